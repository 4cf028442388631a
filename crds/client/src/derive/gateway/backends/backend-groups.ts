/** Divides the backends of a rule into groups that are served alike. */
import { isDeepStrictEqual } from "node:util";
import type { RequestShare } from "@sluice/model";
import type { LocatedFilter } from "../routes/rule-effects.ts";
import { type RuleBackend, type RuleBackends, totalWeight, type UsableBackend } from "./backends.ts";

export interface BackendGroup {
  /** None: no backend of the rule can be used, or this is the group for the part of those that cannot. */
  readonly backends: readonly UsableBackend[];
  readonly filters: readonly LocatedFilter[];
  /** The group's part of the requests; undefined: it is the only group. */
  readonly share: RequestShare | undefined;
}

/**
 * At least one group. A backend with filters is a group of its own. The requests for backends that cannot be used are a
 * group too: its Routes answer with a Plugin of their own, which must not replace an attached Plugin on the other Routes.
 */
export function groupsOf({
  usable,
  refusedPercentage,
}: Pick<RuleBackends, "usable" | "refusedPercentage">): readonly BackendGroup[] {
  const groups: RuleBackend[][] = [];
  for (const backend of usable) {
    const group = groups.find(([first]) => first && areServedAlike(first, backend));
    if (group) group.push(backend);
    else groups.push([backend]);
  }
  const isRefusedInPart = groups.length > 0 && refusedPercentage > 0;
  if (groups.length < 2 && !isRefusedInPart) return [groupOf(groups[0] ?? [], undefined)];
  const served = 100 - refusedPercentage;
  const total = totalWeight(usable);
  let weight = 0;
  const all = groups.map((group) => {
    const from = (weight / total) * served;
    weight += totalWeight(group);
    return groupOf(group, { from, to: (weight / total) * served });
  });
  return isRefusedInPart ? [...all, groupOf([], { from: served, to: 100 })] : all;
}

/** A Service has one protocol, and one way to verify its upstream. */
const areServedAlike = (one: RuleBackend, other: RuleBackend): boolean =>
  one.filters.length + other.filters.length === 0 && one.http2 === other.http2 && isDeepStrictEqual(one.tls, other.tls);

const groupOf = (group: readonly RuleBackend[], share: RequestShare | undefined): BackendGroup => ({
  backends: mergedBackends(group),
  filters: group[0]?.filters ?? [],
  share,
});

/** The maximum weight of a backend of an Upstream. */
const MAX_WEIGHT = 65_535;

/** Each backend once, with a weight of at most `MAX_WEIGHT`, in about the same proportions. */
export function mergedBackends(backends: readonly RuleBackend[]): readonly UsableBackend[] {
  const merged = new Map<string, UsableBackend & { readonly weight: number }>();
  for (const { filters: _, ...backend } of backends) {
    const key = `${backend.namespace}/${backend.name}:${backend.port}`;
    merged.set(key, { ...backend, weight: backend.weight + (merged.get(key)?.weight ?? 0) });
  }
  const all = [...merged.values()];
  const highest = Math.max(...all.map(({ weight }) => weight));
  if (highest <= MAX_WEIGHT) return all;
  return all.map((one) => ({ ...one, weight: Math.max(1, Math.round((one.weight / highest) * MAX_WEIGHT)) }));
}
