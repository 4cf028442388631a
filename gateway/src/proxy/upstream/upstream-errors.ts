/** Errors of exchanges with upstreams; `failure.ts` classifies their codes. */

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export const closedEarly = () => new UpstreamError("ECONNRESET", "the upstream closed the connection");
export const readTimeout = () => new UpstreamError("SLUICE_READ_TIMEOUT", "the upstream sent nothing for read_timeout");
export const writeTimeout = () => new UpstreamError("SLUICE_WRITE_TIMEOUT", "the upstream took no data");
export const connectTimeout = () =>
  new UpstreamError("ETIMEDOUT", "no connection to the upstream within connect_timeout");
export const unaskedProtocol = () => unreadable("it switches to a protocol that nobody asked for");
export const tooManyInterims = () => unreadable("it has too many interim responses before it");
/** @param reason The parser's reason */
export const unreadable = (reason: string) => new UpstreamError("HPE_INVALID", `the upstream's response: ${reason}`);
