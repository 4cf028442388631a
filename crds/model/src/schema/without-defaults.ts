/** Values without the members that `fillDefaults` restores. */
import { isDeepStrictEqual } from "node:util";
import { isRecord, memberSchemaOf, type SchemaNode, valuesOf } from "@sluice/plugin-sdk";

type Members = Readonly<Record<string, unknown>>;

/** A record without unset members, and without members that have their default and that `previous` lacks. */
export function withoutDefaults(node: SchemaNode, value: Members, previous: unknown = {}): Members {
  const before = isRecord(previous) ? previous : {};
  const kept = Object.entries(value).flatMap(([name, given]): [string, unknown][] => {
    if (given === null || given === undefined) return [];
    const member = memberSchemaOf(node, name);
    const named = Object.hasOwn(before, name);
    if (member?.properties && isRecord(given)) {
      const inner = withoutDefaults(member, given, before[name]);
      const empty = Object.keys(inner).length === 0 && isDeepStrictEqual(member.default, {});
      return empty && !named ? [] : [[name, inner]];
    }
    return !named && isDeepStrictEqual(given, member?.default) ? [] : [[name, withoutInnerDefaults(member, given)]];
  });
  return Object.fromEntries(kept);
}

/** Applies `withoutDefaults` to records in a value: items of lists and values of mappings, at any depth. */
function withoutInnerDefaults(node: SchemaNode = {}, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutInnerDefaults(node.items, item));
  if (!isRecord(value)) return value;
  const values = valuesOf(node);
  if (values === undefined) return withoutDefaults(node, value);
  const entries = Object.entries(value).filter(([, inner]) => inner !== null && inner !== undefined);
  return Object.fromEntries(entries.map(([name, inner]) => [name, withoutInnerDefaults(values, inner)]));
}
