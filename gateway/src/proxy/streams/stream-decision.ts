/** Whether a connection that is not HTTP may be forwarded, as far as this is known before its plugins run. */
import type { CompiledRoute, ListenerStream, PluginStep, ServiceUpstream } from "../../compile/runtime.ts";
import { type GatewayErrorName, gatewayErrors } from "../../exchange/gateway-errors.ts";

/** Why a connection is closed instead of forwarded. */
export interface StreamRefusal {
  /** `refused`: a plugin closes it. */
  readonly fault: GatewayErrorName | "refused";
  readonly status: number;
  readonly reason: string;
}

export type StreamDecision =
  | { readonly refusal: StreamRefusal; readonly upstream?: undefined; readonly steps?: undefined }
  | { readonly upstream: ServiceUpstream; readonly steps: readonly PluginStep[]; readonly refusal?: undefined };

const PERCENT = 100;

/**
 * @param compiled Null: the stream has no route, or the route's service is disabled or missing
 * @param draw Returns a number from 0 to below 1, for routes of which a share of the connections is closed
 */
export function decideStream(
  { route }: ListenerStream,
  compiled: CompiledRoute | null,
  draw: () => number = Math.random,
): StreamDecision {
  if (route === null) return refusalFor("noRoute", gatewayErrors.noRoute.message);
  const { unavailable, refused_percentage: refused = 0 } = route._sluice ?? {};
  if (unavailable !== undefined) return refusalFor("closed", unavailable);
  if (compiled === null) return refusalFor("noService", "the service of the route is disabled or missing");
  const { closed, steps } = compiled.chains.connections;
  if (closed !== null) return refusalFor("closed", closed.reason);
  if (refused > 0 && draw() * PERCENT < refused) return refusalFor("noService", refusedShare(refused));
  const { upstream } = compiled;
  return upstream === null ? refusalFor("noService", "the route has no service") : { upstream, steps };
}

/** @param percentage The share of the connections that are closed */
export const refusedShare = (percentage: number): string =>
  `${percentage} % of the connections are for backends that cannot be used`;

const refusalFor = (fault: GatewayErrorName, reason: string): StreamDecision => ({
  refusal: { fault, status: gatewayErrors[fault].status, reason },
});
