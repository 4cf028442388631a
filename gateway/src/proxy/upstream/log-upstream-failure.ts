/** Logs a failed upstream with address and cause. Clients receive a generic message. */
import type { LiveExchange } from "../exchange/live-exchange.ts";
import { errorCodeOf } from "./failure.ts";

type Log = { warn(details: object, message: string): void };

export interface UpstreamFailure {
  readonly exchange: LiveExchange;
  /** Null when no target was tried. */
  readonly error: Error | null;
  readonly what: "failed" | "broke off its response";
}

export function logUpstreamFailure(log: Log, { exchange, error, what }: UpstreamFailure): void {
  const { id, route, service, target } = exchange;
  const address = target && `${target.host.includes(":") ? `[${target.host}]` : target.host}:${target.port}`;
  const reason = error === null ? "no target takes requests" : reasonOf(error);
  const details = {
    requestId: id,
    route: route.name ?? route.id,
    service: service?.name ?? service?.id,
    ...(address !== null && { upstream: address }),
    ...(error !== null && { code: errorCodeOf(error), reason }),
  };
  log.warn(details, `the upstream ${address === null ? "" : `${address} `}${what}: ${reason}`);
}

/** A name with several addresses fails with one error per address and an empty message of its own. */
function reasonOf(error: Error): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error.message || errorCodeOf(error) || error.name;
}
