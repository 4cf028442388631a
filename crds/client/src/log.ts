/** The log of a client. A pino logger implements this interface. Details never contain secrets. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
