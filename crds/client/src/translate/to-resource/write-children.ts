/** The lists of a resource whose entries are entities of their own. */
import { kinds, type Sni, type Target, writeSpec } from "@sluice/model";

type Members = Readonly<Record<string, unknown>>;

const lists = { Certificate: "snis", Upstream: "targets" } as const;

/**
 * The list as a member of the spec; omitted when empty. Every entry has its id, so that the entity keeps it when it is
 * renamed.
 *
 * @param children All entities of the list; undefined: the list stays unchanged.
 * @param before The previous spec.
 */
export function writeChildren(
  kind: keyof typeof lists,
  children: readonly (Target | Sni)[] | undefined,
  before: Members,
): Members {
  const list = lists[kind];
  const given = before[list];
  const entriesBefore: readonly unknown[] = Array.isArray(given) ? given : [];
  if (children === undefined) return entriesBefore.length > 0 ? { [list]: entriesBefore } : {};
  const node = kinds[kind].spec.properties?.[list]?.items ?? {};
  const known = new Map(entriesBefore.map((entry) => [Object(entry).id, entry]));
  const entries = children.map((child) => ({ id: child.id, ...writeSpec(node, { ...child }, known.get(child.id)) }));
  return entries.length > 0 ? { [list]: entries } : {};
}
