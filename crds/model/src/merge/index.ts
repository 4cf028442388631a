/** Merges a change into an entity, as PATCH of the admin API does. */

import { isRecord, memberSchemaOf, type SchemaNode } from "@sluice/plugin-sdk";
import { expandConfig, withAlgorithm } from "../check/shorthand.ts";
import { type Collection, entities } from "../entities/index.ts";
import { type ConfigFacts, configFactsOf } from "../plugins/index.ts";

type Members = Readonly<Record<string, unknown>>;

/**
 * Applies a change to a stored entity; the result is not validated. Records, including a plugin's config, are merged
 * member by member; lists, mappings and references are replaced; null unsets a member. A config is not merged into the
 * config of another plugin. Setting the hash source of an upstream also selects consistent-hashing, as `withAlgorithm`
 * describes.
 */
export function mergeEntity(collection: Collection, current: object, change: Members): Members {
  const members = current as Members;
  const expanded = collection === "upstreams" ? withAlgorithm(change) : change;
  const merged = mergeRecord(entities[collection].schema, members, expanded);
  const known = configFactsOf(collection, members);
  if (known === undefined || !isRecord(change.config)) return merged;
  if (known !== configFactsOf(collection, merged)) return merged;
  return { ...merged, config: mergeConfig(known, members.config, change.config) };
}

/** Invalid deprecated members stay as written, for validation to reject. */
function mergeConfig(plugin: ConfigFacts, current: unknown, change: Members): Members {
  const { members, violations } = expandConfig(plugin, change);
  const faulty = violations.map(({ path: [name] }): [string, unknown] => [String(name), change[String(name)]]);
  return { ...mergeRecord(plugin.schema, current, members), ...Object.fromEntries(faulty) };
}

/** Members are defined by `Object.fromEntries` and never assigned, so `__proto__` is a member like any other. */
function mergeRecord(schema: SchemaNode, current: unknown, change: Members): Members {
  const before = isRecord(current) ? current : {};
  const changed = Object.entries(change).map(([name, value]): [string, unknown] => {
    const member = memberSchemaOf(schema, name);
    const isMerged = member?.properties !== undefined && member.reference === undefined && isRecord(value);
    return [name, isMerged ? mergeRecord(member, Object.hasOwn(before, name) ? before[name] : null, value) : value];
  });
  return Object.fromEntries([...Object.entries(before), ...changed]);
}
