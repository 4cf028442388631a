/** Where a client tells what people should know. A pino logger is one. Details never hold secrets. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
