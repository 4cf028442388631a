/** The access log and tracing of a worker. Only the enabled ones are loaded. */
import type { Snapshot } from "@sluice/model";
import type { ProxyLog } from "../proxy/engine.ts";
import type { AccessLogPlan } from "../proxy/observability/access-log/access-log.ts";
import { combineObservers, type RequestObserver } from "../proxy/observability/observer.ts";
import type { TracingPlan } from "../proxy/observability/tracing/tracing.ts";

/** Null: off. */
export interface ObserversPlan {
  readonly accessLog: AccessLogPlan | null;
  readonly tracing: TracingPlan | null;
}

/** Null when both are off. Rejects when the access log cannot be opened. */
export async function openObservers(
  { accessLog, tracing }: ObserversPlan,
  options: { readonly snapshot: () => Snapshot; readonly log: ProxyLog },
): Promise<RequestObserver | null> {
  const observers: RequestObserver[] = [];
  // First, so that the access log can record the traces that tracing began.
  if (tracing !== null)
    observers.push((await import("../proxy/observability/tracing/tracing.ts")).openTracing(tracing, options.log));
  if (accessLog !== null) {
    const { openAccessLog } = await import("../proxy/observability/access-log/access-log.ts");
    observers.push(await openAccessLog({ plan: accessLog, ...options }));
  }
  return combineObservers(observers);
}
