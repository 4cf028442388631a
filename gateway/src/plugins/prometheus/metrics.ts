/** placeholder to be replaced */
export interface Metrics {
  readonly contentType: string;
}
