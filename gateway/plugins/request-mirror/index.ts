/** request-mirror: sends copies of requests to other services. */
import { type CounterMetricOptions, definePlugin, type Exchange, type MirrorFailure } from "@sluice/plugin-sdk";
import { requestMirrorFacts } from "./schema.ts";

export const mirrorCopies: CounterMetricOptions = {
  name: "copies_total",
  help: "Copies of requests by the service that receives them, and by result (sent, failed or dropped)",
  labelNames: ["service", "result"],
};

/** Milliseconds between two log lines about copies for the same service. */
const LOG_INTERVAL = 10_000;

export const requestMirror = definePlugin({
  ...requestMirrorFacts,
  phases({ mirrors, max_body_size: maxBody, timeout }, context) {
    const copies = context.counterMetric(mirrorCopies);
    const mirrored = mirrors.map(({ service, percentage }) => {
      const isInShare = evenShare(percentage);
      const warn = limitedWarning();
      return (exchange: Exchange): void => {
        if (!isInShare()) return;
        const onEnd = (failure: MirrorFailure | null): void => {
          copies.add(1, [service, failure?.kind ?? "sent"]);
          if (failure !== null) warn(failure, service);
        };
        exchange.mirror({ service, maxBody, timeout, onEnd });
      };
    });

    /** Returns a function that logs why a copy was not sent. Requests must not flood the log. */
    function limitedWarning(): (failure: MirrorFailure, service: string) => void {
      let next = Number.NEGATIVE_INFINITY;
      let unlogged = 0;
      return ({ kind, reason }, service) => {
        const now = context.now();
        if (now < next) {
          unlogged++;
          return;
        }
        next = now + LOG_INTERVAL;
        context.log.warn(`a copy of a request was ${kind === "dropped" ? "dropped" : "not answered"}`, {
          service,
          reason,
          ...(unlogged > 0 && { unlogged }),
        });
        unlogged = 0;
      };
    }

    return {
      access(exchange): undefined {
        for (const mirror of mirrored) mirror(exchange);
      },
    };
  },
});

/**
 * Returns a function that returns true for this percentage of its calls, evenly spread.
 *
 * @param percentage From 0 to 100.
 */
function evenShare(percentage: number): () => boolean {
  if (percentage >= 100) return () => true;
  let sum = 0;
  return () => {
    sum += percentage;
    if (sum < 100) return false;
    sum -= 100;
    return true;
  };
}
