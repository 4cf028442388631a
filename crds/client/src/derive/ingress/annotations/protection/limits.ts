/** Annotations that limit the requests of each client address. All routes of an Ingress count together. */
import type { Annotations } from "../annotations.ts";
import type { PluginEffect } from "../effects.ts";

const MAX_LIMIT = 1_000_000;
const DEFAULT_MULTIPLIER = 5;
const MAX_MULTIPLIER = 1000;

/** `limit-whitelist` is the older name of `limit-allowlist`. */
const EXEMPT = ["limit-allowlist", "limit-whitelist"] as const;

/** @param scope A string that no other Ingress of the namespace has. */
export function limitEffects(annotations: Annotations, scope: string): readonly PluginEffect[] {
  const limits = { minimum: 0, maximum: MAX_LIMIT };
  const second = annotations.integer("limit-rps", limits) ?? 0;
  const minute = annotations.integer("limit-rpm", limits) ?? 0;
  const connections = annotations.integer("limit-connections", limits) ?? 0;
  const multiplier =
    annotations.integer("limit-burst-multiplier", { minimum: 1, maximum: MAX_MULTIPLIER }) ?? DEFAULT_MULTIPLIER;
  const [exempt] = EXEMPT.flatMap((name) => [annotations.list(name) ?? []]).filter(({ length }) => length > 0);
  const common = { limit_by: "ip", scope_name: scope, error_code: 503, ...(exempt && { exempt }) };
  // As in nginx, 1 + burst requests are admitted at once.
  const rates = {
    ...(second > 0 && { second }),
    ...(minute > 0 && { minute }),
  };
  const burst = Object.fromEntries(Object.entries(rates).map(([period, limit]) => [period, limit * multiplier]));
  return [
    ...(second + minute === 0
      ? []
      : [
          {
            plugin: "rate-limiting",
            config: { ...rates, ...common, algorithm: "bucket", burst, policy: "local", hide_client_headers: true },
            annotation: second > 0 ? "limit-rps" : "limit-rpm",
          },
        ]),
    ...(connections === 0
      ? []
      : [
          {
            plugin: "concurrency-limiting",
            config: { ...common, limit: connections },
            annotation: "limit-connections",
          },
        ]),
  ];
}
