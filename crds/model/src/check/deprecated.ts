/** Deprecated members of a record: accepted in place of their replacements, and shown in addition to them. */
import { isDeepStrictEqual } from "node:util";
import { isRecord, memberSchemaOf, type SchemaNode, type Violation } from "@sluice/plugin-sdk";
import { pluginNamed } from "../plugins/index.ts";
import { validateValue } from "./validate.ts";

type Members = Readonly<Record<string, unknown>>;
type Path = readonly string[];

/** The members, with each deprecated one replaced by its current member, and the violations found in doing so. */
export interface ReplacedMembers {
  readonly members: Members;
  readonly violations: readonly Violation[];
}

/**
 * `redis_host` becomes `redis.host`. As in Kong 3.9, null keeps the value of the other spelling, and two different
 * values are rejected. Unlike in Kong, `true` in one spelling and `false` in the other are rejected too: whether TLS is
 * used must not depend on the spelling.
 */
export function replaceDeprecated(schema: SchemaNode, given: Members): ReplacedMembers {
  const deprecated = (schema.deprecatedMembers ?? []).filter(({ name }) => Object.hasOwn(given, name));
  if (deprecated.length === 0) return { members: given, violations: [] };
  const names = new Set(deprecated.map(({ name }) => name));
  const violations: Violation[] = [];
  let members: Members = Object.fromEntries(Object.entries(given).filter(([name]) => !names.has(name)));
  for (const { name, replacedBy } of deprecated) {
    const value = given[name] ?? null;
    const current = valueAt(members, replacedBy) ?? null;
    const node = schemaNodeAt(schema, replacedBy);
    const faults = value === null || node === undefined ? [] : validateValue(node, value);
    violations.push(...faults.map(({ path, message }) => ({ path: [name, ...path], message })));
    if (faults.length > 0) continue;
    if (current === null) members = withValue(members, replacedBy, value);
    else if (value !== null && !isDeepStrictEqual(value, current)) {
      // Secret values are kept out of messages.
      const values = node?.secret ? ["", ""] : [` = ${value}`, ` = ${current}`];
      const message = `both deprecated and new field are used but their values mismatch: ${name}${values[0]} vs ${replacedBy.join(".")}${values[1]}`;
      violations.push({ path: [name], message });
    }
  }
  return { members, violations };
}

/** A plugin's config as shown to Kong's clients: deprecated members have the values of their replacements. */
export function withDeprecated(plugin: string, config: Members): Members {
  const { deprecatedMembers = [] } = pluginNamed(plugin)?.schema ?? {};
  const shown = deprecatedMembers.flatMap(({ name, replacedBy }): [string, unknown][] => {
    const value = valueAt(config, replacedBy);
    return value === undefined ? [] : [[name, value]];
  });
  return shown.length === 0 ? config : { ...config, ...Object.fromEntries(shown) };
}

/** The schema of the member at the path; undefined if the schema has no such member. */
export function schemaNodeAt(schema: SchemaNode, path: Path): SchemaNode | undefined {
  return path.reduce<SchemaNode | undefined>((node, name) => node && memberSchemaOf(node, name), schema);
}

const valueAt = (members: Members, path: Path): unknown =>
  path.reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), members);

/** The members with the value at the path. A value on the path that is not a record stays, for the schema to reject. */
function withValue(members: Members, [name = "", ...rest]: Path, value: unknown): Members {
  if (rest.length === 0) return { ...members, [name]: value };
  const inner = (Object.hasOwn(members, name) ? members[name] : null) ?? {};
  return isRecord(inner) ? { ...members, [name]: withValue(inner, rest, value) } : members;
}
