/** Converts members of specs to members of entities and back, driven by the schemas. */

import { isRecord, memberSchemaOf, type SchemaNode, type Violation, valuesOf } from "@sluice/plugin-sdk";
import { validateValue } from "../check/validate.ts";
import { type Collection, entities } from "../entities/index.ts";
import { toCamel, toSnake } from "../names.ts";
import { withoutDefaults } from "../schema/without-defaults.ts";
import type { SpecNode } from "./kind.ts";

type Members = Readonly<Record<string, unknown>>;
type Path = Violation["path"];

export interface SpecMembers {
  /** Members of the entity in snake_case, not validated. */
  readonly members: Members;
  /** Members marked `own`, in camelCase, validated by their schema; invalid and unset ones are omitted. */
  readonly own: Members;
  /**
   * Unknown members, and missing or invalid members marked `own`. Paths start at the value, and spell names as the
   * value does.
   */
  readonly violations: readonly Violation[];
}

/**
 * Splits a spec (or a record inside one) into members of the entity and members marked `own`, and reports violations,
 * because resources in a directory have not been validated by an API server.
 */
export function readSpec(node: SpecNode, value: unknown): SpecMembers {
  if (!isRecord(value)) return { members: {}, own: {}, violations: [{ path: [], message: "expected a record" }] };
  const members: [string, unknown][] = [];
  const own: [string, unknown][] = [];
  const violations: Violation[] = [];
  for (const [name, member] of Object.entries(node.properties ?? {})) {
    const given = Object.hasOwn(value, name) ? (value[name] ?? undefined) : undefined;
    if (given === undefined) {
      if (member.own && node.required?.includes(name))
        violations.push({ path: [name], message: "required field missing" });
    } else if (member.own) {
      const faults = validateValue(member, given);
      violations.push(...faults.map(({ path, message }) => ({ path: [name, ...path], message })));
      if (faults.length === 0) own.push([name, given]);
    } else members.push([toSnake(name), respell(member, given, toSnake)]);
  }
  for (const name of Object.keys(value).filter((name) => !memberSchemaOf(node, name)))
    violations.push({ path: [name], message: unknownMember(node, name) });
  return { members: Object.fromEntries(members), own: Object.fromEntries(own), violations };
}

const unknownMember = (node: SpecNode, name: string): string =>
  memberSchemaOf(node, toCamel(name)) ? `unknown field: it is written ${toCamel(name)}` : "unknown field";

/**
 * The members of a spec that express an entity, in camelCase. Unset members are omitted. Members with their default
 * value are omitted unless `previous` (the replaced spec) has them: if such a member were omitted, a value of another
 * field manager would stay.
 */
export function writeSpec(node: SpecNode, entity: Members, previous: unknown = {}): Members {
  const derived = Object.entries(node.properties ?? {}).filter(([, member]) => !member.own);
  const members = derived.map(([name, member]) => [name, respell(member, entity[toSnake(name)], toCamel)]);
  return withoutDefaults({ properties: Object.fromEntries(derived) }, Object.fromEntries(members), previous);
}

/**
 * Converts a path in an entity to a path in its spec: `["strip_path"]` -> `["stripPath"]`. Names in mappings stay
 * unchanged.
 */
export function camelPath(collection: Collection, path: Path): Path {
  let node: SchemaNode | undefined = entities[collection].schema;
  return path.map((step) => {
    const member: SchemaNode | undefined = node && typeof step === "string" ? memberSchemaOf(node, step) : undefined;
    const spelled = member && typeof step === "string" ? toCamel(step) : step;
    node = member ?? (typeof step === "number" ? node?.items : node && valuesOf(node));
    return spelled;
  });
}

/** The value with the names of the members of its schema respelled. Everything else stays unchanged. */
function respell(node: SpecNode, value: unknown, spell: (name: string) => string): unknown {
  if (Array.isArray(value)) return node.items ? value.map((item) => respell(node.items ?? {}, item, spell)) : value;
  if (!isRecord(value) || !node.properties) return value;
  const entries = Object.entries(value).map(([name, given]): [string, unknown] => {
    const member = memberSchemaOf(node, name) ?? memberSchemaOf(node, toCamel(name));
    return member ? [spell(name), respell(member, given, spell)] : [name, given];
  });
  return Object.fromEntries(entries);
}
