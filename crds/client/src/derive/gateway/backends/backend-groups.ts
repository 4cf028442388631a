/** Divides the backends of a rule into groups that are served alike. */
import { isDeepStrictEqual } from "node:util";
import type { RequestShare } from "@sluice/model";
import type { LocatedFilter } from "../routes/rule-effects.ts";
import { type RuleBackend, totalWeight, type UsableBackend } from "./backends.ts";

export interface BackendGroup {
  /** At least one, unless no backend of the rule can be used. */
  readonly backends: readonly UsableBackend[];
  readonly filters: readonly LocatedFilter[];
  /** The group's part of the requests; undefined: it is the only group. */
  readonly share: RequestShare | undefined;
}

/** At least one group. A backend with filters is a group of its own. */
export function groupsOf(usable: readonly RuleBackend[]): readonly BackendGroup[] {
  const groups: RuleBackend[][] = [];
  for (const backend of usable) {
    const group = groups.find(([first]) => first && areServedAlike(first, backend));
    if (group) group.push(backend);
    else groups.push([backend]);
  }
  if (groups.length < 2) return [groupOf(groups[0] ?? [], undefined)];
  const total = totalWeight(usable);
  let weight = 0;
  return groups.map((group) => {
    const from = (weight / total) * 100;
    weight += totalWeight(group);
    return groupOf(group, { from, to: (weight / total) * 100 });
  });
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
