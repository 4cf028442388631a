import type { RawHeaders } from "../headers/client-headers.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const CONTROL = /[\x00-\x08\x0a-\x1f\x7f]/;

/**
 * Finds faults in a response head that Node's and undici's parsers accept and the http1 engine refuses.
 *
 * @returns The reason for the log; null for a valid head
 */
export function malformedResponseReason(headers: RawHeaders, reason: string): string | null {
  if (CONTROL.test(reason)) return "its reason phrase holds a control character";
  let codings = 0;
  for (let at = 0; at < headers.length; at += 2) {
    if (String(headers[at]).toLowerCase() !== "transfer-encoding") continue;
    if (++codings > 1 || String(headers[at + 1]).toLowerCase() !== "chunked") return "its transfer coding is unknown";
  }
  return null;
}
