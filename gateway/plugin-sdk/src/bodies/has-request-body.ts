/** Whether a request has a body, without reading more than necessary. */
import type { ExchangeRequest } from "../exchange/exchange.ts";

/** A promise only if the head does not tell: a request over HTTP/2 without Content-Length. Its body is then read. */
export function hasRequestBody(request: ExchangeRequest): boolean | Promise<boolean> {
  if (request.header("transfer-encoding") !== undefined) return true;
  const length = request.header("content-length");
  if (length !== undefined) return length !== "0";
  return request.httpVersion === "2" && request.body(0).then((empty) => empty === null || empty.length > 0);
}
