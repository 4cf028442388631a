/** decK's `_info`: tags for every entity, and defaults that replace the gateway's. */
import { type Collection, entities } from "../../entities/index.ts";
import { isRecord } from "../../schema/node.ts";
import type { Violation } from "../../violation.ts";
import type { Findings } from "./top-level.ts";

type Members = Readonly<Record<string, unknown>>;

export interface DeckInfo extends Findings {
  /** Adds the file's tags and defaults to an entity's members. */
  readonly apply: (collection: Collection, item: Members) => Members;
}

/** Members that only affect how decK compares a file with a gateway. A gateway that reads the file ignores them. */
const ignored = new Set(["default_lookup_tags", "consumer_group_policy_overrides"]);

/** Collections for which decK supports defaults. */
const withDefaults = ["services", "routes", "upstreams", "targets"] as const;

export function readDeckInfo(info: unknown): DeckInfo {
  if (info === undefined || info === null) return { violations: [], warnings: [], apply: (_collection, item) => item };
  const { select_tags: given = [], defaults = {}, ...unknown } = isRecord(info) ? info : {};
  const tags = Array.isArray(given) && given.every((tag) => typeof tag === "string") ? given : undefined;
  const byCollection = new Map<Collection, Members>();
  const names = Object.keys(unknown);
  const told = (message: string) => (name: string) => ({ path: ["_info", name], message });
  const violations: Violation[] = names.filter((name) => !ignored.has(name)).map(told("unknown field"));
  if (!isRecord(info)) violations.push({ path: ["_info"], message: "expected a record" });
  if (!tags) violations.push({ path: ["_info", "select_tags"], message: "expected an array of strings" });
  if (!isRecord(defaults)) violations.push({ path: ["_info", "defaults"], message: "expected a record" });
  for (const [name, members] of Object.entries(isRecord(defaults) ? defaults : {})) {
    const collection = withDefaults.find((known) => entities[known].singular === name);
    if (!collection) violations.push({ path: ["_info", "defaults", name], message: "unknown field" });
    else if (!isRecord(members)) violations.push({ path: ["_info", "defaults", name], message: "expected a record" });
    else byCollection.set(collection, members);
  }
  return {
    violations,
    warnings: names.filter((name) => ignored.has(name)).map(told("ignored: only decK itself reads this member")),
    apply: (collection, item) => withTags(over(byCollection.get(collection) ?? {}, item), tags ?? []),
  };
}

/** The entity's own members override the defaults, member by member. */
function over(defaults: Members, item: Members): Members {
  const missing = Object.entries(defaults).map(([name, value]): [string, unknown] => {
    const given = Object.hasOwn(item, name) ? (item[name] ?? value) : value;
    return [name, isRecord(value) && isRecord(given) ? over(value, given) : given];
  });
  return { ...item, ...Object.fromEntries(missing) };
}

function withTags(item: Members, tags: readonly string[]): Members {
  if (tags.length === 0 || !(Array.isArray(item.tags) || (item.tags ?? null) === null)) return item;
  return { ...item, tags: [...new Set([...((item.tags as readonly unknown[] | null | undefined) ?? []), ...tags])] };
}
