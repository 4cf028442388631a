/** Checks between the members of a rate-limiting config, with Kong's messages. */
import {
  atLeastOneOf,
  conditional,
  isEmptyValue,
  type KongCheck,
  periods,
  type RecordMembers,
  type RecordRule,
  type Violation,
} from "@sluice/plugin-sdk";

export const checkRateLimiting: RecordRule = (config) => [
  ...atLeastOneOf(config, periods, "config."),
  ...periodsInOrder(config),
  ...syncRate(config),
  ...needed(config),
];

/** Like Kong, reports only the first pair of periods whose limits contradict each other. */
function periodsInOrder(config: RecordMembers): readonly Violation[] {
  const limits = periods.flatMap((period) => {
    const limit = config[period];
    return typeof limit === "number" ? [{ period, limit }] : [];
  });
  for (const [index, shorter] of limits.entries()) {
    const longer = limits.slice(index + 1).find(({ limit }) => limit < shorter.limit);
    if (longer === undefined) continue;
    const [high, low] = [longer, shorter].map(({ period, limit }) => `${period}(${limit.toFixed(1)})`);
    return [{ path: [], message: `The limit for ${high} cannot be lower than the limit for ${low}` }];
  }
  return [];
}

function syncRate({ policy, sync_rate: rate }: RecordMembers): readonly Violation[] {
  if (typeof rate !== "number" || rate === -1) return [];
  if (policy !== "redis") return [{ path: [], message: "sync_rate can only be used with the redis policy" }];
  if (rate < 0.02) return [{ path: [], message: "sync_rate must be greater than 0.02, or -1 to disable" }];
  return [];
}

function needed(config: RecordMembers): readonly Violation[] {
  const missing: Violation[] = [];
  const redis: RecordMembers = typeof config.redis === "object" && config.redis !== null ? { ...config.redis } : {};
  const need = (given: string, value: unknown, path: Violation["path"]) => {
    if (isEmptyValue(value)) missing.push(...conditional(`config.${given}`, path, "required field missing"));
  };
  if (config.policy === "redis") need("policy", redis.host, ["redis", "host"]);
  if (config.limit_by === "header") need("limit_by", config.header_name, ["header_name"]);
  if (config.limit_by === "path") need("limit_by", config.path, ["path"]);
  return missing;
}

const requiredIf = (when: string, value: string, then: string): KongCheck => ({
  conditional: {
    if_field: `config.${when}`,
    if_match: { eq: value },
    then_field: `config.${then}`,
    then_match: { required: true },
  },
});

/** The checks in this file that Kong's schema language can express. */
export const kongChecks: readonly KongCheck[] = [
  { at_least_one_of: periods.map((period) => `config.${period}`) },
  requiredIf("policy", "redis", "redis.host"),
  requiredIf("limit_by", "header", "header_name"),
  requiredIf("limit_by", "path", "path"),
];
