/** Applies decK's own members of a file, `_info` and `_plugin_configs`, to the file's entities. */
import { isRecord, type Violation } from "@sluice/plugin-sdk";
import { type Collection, entities } from "../../entities/index.ts";
import type { Findings } from "./top-level.ts";

type Members = Readonly<Record<string, unknown>>;

/** decK's `_info`: tags for every entity, and defaults that replace the gateway's. */
export interface DeckInfo extends Findings {
  /** Adds the file's tags and defaults to an entity's members. */
  readonly apply: (collection: Collection, item: Members) => Members;
}

/** Members of `_info` that only affect how decK compares a file with a gateway. Sluice ignores them. */
const ignored = new Set(["default_lookup_tags", "consumer_group_policy_overrides"]);

/** Collections for which decK supports defaults. */
const withDefaults = ["services", "routes", "upstreams", "targets"] as const;

export function readDeckInfo(info: unknown): DeckInfo {
  if (info === undefined || info === null) return { violations: [], warnings: [], apply: (_collection, item) => item };
  const { select_tags: given = [], defaults = {}, ...unknown } = isRecord(info) ? info : {};
  const tags = Array.isArray(given) && given.every((tag) => typeof tag === "string") ? given : undefined;
  const byCollection = new Map<Collection, Members>();
  const names = Object.keys(unknown);
  const violationOf = (message: string) => (name: string) => ({ path: ["_info", name], message });
  const violations: Violation[] = names.filter((name) => !ignored.has(name)).map(violationOf("unknown field"));
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
    warnings: names.filter((name) => ignored.has(name)).map(violationOf("ignored: only decK itself reads this member")),
    apply(collection, item) {
      const defaults = byCollection.get(collection) ?? {};
      return withTags(
        withMissing(item, defaults, (value) => (value ?? null) !== null),
        tags ?? [],
      );
    },
  };
}

function withTags(item: Members, tags: readonly string[]): Members {
  if (tags.length === 0 || !(Array.isArray(item.tags) || (item.tags ?? null) === null)) return item;
  return { ...item, tags: [...new Set([...((item.tags as readonly unknown[] | null | undefined) ?? []), ...tags])] };
}

/** decK's `_plugin_configs`: named configs that plugins of the same file include through `_config`. */
export interface DeckPluginConfigs {
  readonly violations: readonly Violation[];
  /** Merges the referenced config into a plugin; the plugin's own members take precedence at every level. */
  readonly apply: (plugin: Members) => { readonly plugin: Members; readonly violations: readonly Violation[] };
}

export function readPluginConfigs(given: unknown): DeckPluginConfigs {
  const configs = isRecord(given) ? given : {};
  const violations: Violation[] =
    isRecord(given) || (given ?? null) === null ? [] : [{ path: ["_plugin_configs"], message: "expected a record" }];
  for (const [name, config] of Object.entries(configs)) {
    if (!isRecord(config)) violations.push({ path: ["_plugin_configs", name], message: "expected a record" });
  }
  return {
    violations,
    apply(written) {
      if (!Object.hasOwn(written, "_config")) return { plugin: written, violations: [] };
      const { _config: name, ...plugin } = written;
      if (name === null) return { plugin, violations: [] };
      if (typeof name !== "string") return fault(plugin, "expected a string");
      if (!Object.hasOwn(configs, name)) return fault(plugin, `'_plugin_configs' has no config '${name}'`);
      const named = configs[name];
      const own = plugin.config ?? {};
      const config = isRecord(named) && isRecord(own) ? withMissing(own, named, (value) => value !== undefined) : own;
      return { plugin: { ...plugin, config }, violations: [] };
    },
  };
}

const fault = (plugin: Members, message: string) => ({ plugin, violations: [{ path: ["_config"], message }] });

/**
 * The members of `own`, and those of `defaults` that `own` lacks, at every level, as in decK since
 * go-database-reconciler 1.36 (earlier versions merged the top level only). `isGiven` decides whether `own` lacks a
 * member: as in decK, an explicit null counts as a value in a plugin's config, but as missing in an entity.
 */
function withMissing(own: Members, defaults: Members, isGiven: (value: unknown) => boolean): Members {
  const members = Object.entries(defaults).map(([name, value]): [string, unknown] => {
    const given = Object.hasOwn(own, name) ? own[name] : undefined;
    if (isRecord(given) && isRecord(value)) return [name, withMissing(given, value, isGiven)];
    return [name, isGiven(given) ? given : value];
  });
  return { ...own, ...Object.fromEntries(members) };
}
