/** The Host header of one try. */
import type { Target } from "../../runtime/runtime.ts";
import type { LiveExchange } from "../live-exchange.ts";

/** The forwarded headers, with the target's own Host unless the client's is preserved or a plugin has set another. */
export function headersFor(
  target: Target,
  headers: readonly string[],
  { part, request }: LiveExchange,
): readonly string[] {
  if (target.hostHeader === null || headers[0] !== "Host") return headers;
  if (part.route.preserve_host && request.host !== "") return headers;
  return ["Host", target.hostHeader, ...headers.slice(2)];
}
