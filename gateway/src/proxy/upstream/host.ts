/** The Host header of one attempt. */
import type { UpstreamTarget } from "../../compile/runtime.ts";
import type { LiveExchange } from "../exchange/live-exchange.ts";

/** The forwarded headers with the target's Host, unless the client's is preserved or a plugin has set it. */
export function withTargetHost(
  target: UpstreamTarget,
  headers: readonly string[],
  { compiledRoute, request }: LiveExchange,
): readonly string[] {
  if (target.hostHeader === null || headers[0] !== "Host") return headers;
  if (compiledRoute.route.preserve_host && request.host !== "") return headers;
  return ["Host", target.hostHeader, ...headers.slice(2)];
}
