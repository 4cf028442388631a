/** Checks the facts that a plugin exports, before they are used. Each fault states the error, and how to correct it. */
import { isRecord, type SchemaNode } from "@sluice/plugin-sdk";
import { recordRules, textRules } from "../../check/rules.ts";
import { suggestionFor } from "../../suggest.ts";
import { PLUGIN_NAME, PLUGIN_NAME_LENGTH } from "../index.ts";

type Members = Readonly<Record<string, unknown>>;

/** Returns the faults of a plugin's facts. If there are none, the facts are valid as `PluginFacts`. */
export function factsFaults(facts: Members): string[] {
  const {
    name,
    version,
    priority,
    protects,
    refuses = [],
    endpoints = [],
    identifies,
    schema,
    credentials,
    kongChecks,
  } = facts;
  return [
    ...(typeof name !== "string" || name.length > PLUGIN_NAME_LENGTH || !PLUGIN_NAME.test(name)
      ? [
          `name: expected at most ${PLUGIN_NAME_LENGTH} lower-case letters, digits and single dashes, not ${shown(name)}`,
        ]
      : []),
    ...(typeof version !== "string" || !/^\d+\.\d+\.\d+/.test(version)
      ? [`version: expected a text such as "1.0.0", not ${shown(version)}`]
      : []),
    ...(typeof priority !== "number" || !Number.isFinite(priority)
      ? [`priority: expected a number, not ${shown(priority)}; plugins run in descending order of priority`]
      : []),
    ...(typeof protects !== "boolean"
      ? [`protects: expected true if the plugin restricts access, else false, not ${shown(protects)}`]
      : []),
    ...(identifies === undefined || typeof identifies === "boolean"
      ? []
      : [`identifies: expected true if the plugin may find the consumer of a request, not ${shown(identifies)}`]),
    ...(Array.isArray(refuses) && refuses.every((target) => targets.has(target))
      ? []
      : [`refuses: expected a list of service, route, consumer and consumer_group, not ${shown(refuses)}`]),
    ...(Array.isArray(endpoints) && endpoints.every((segment) => typeof segment === "string" && SEGMENT.test(segment))
      ? []
      : [
          `endpoints: expected a list of path segments of lower-case letters, digits and dashes, not ${shown(endpoints)}`,
        ]),
    ...["expand", "check"].flatMap((member) =>
      facts[member] === undefined || typeof facts[member] === "function" ? [] : [`${member}: expected a function`],
    ),
    ...(kongChecks === undefined || Array.isArray(kongChecks) ? [] : ["kongChecks: expected a list"]),
    ...schemaFaults(schema, "schema", true),
    ...(credentials === undefined ? [] : credentialFaults(credentials)),
  ];
}

/** The faults of `credentials`. Nodes read credentials as they are stored, so members cannot refer to vaults. */
function credentialFaults(credentials: unknown): readonly string[] {
  if (!isRecord(credentials))
    return [`credentials: expected { key: text({ ... }), schema: record({ ... }) }, not ${shown(credentials)}`];
  const { key, schema, check, ...others } = credentials;
  const [referenceable] = isRecord(schema) ? referenceableMembers(schema, "credentials.schema") : [];
  return [
    ...Object.keys(others).map((name) => `credentials: unknown member ${name}${suggestionFor(name, KNOWN_FACTS)}`),
    ...(key === undefined ? [] : schemaFaults(key, "credentials.key")),
    ...(key !== undefined && Object(key).type !== "string" ? ["credentials.key: expected text({ ... })"] : []),
    ...schemaFaults(schema, "credentials.schema", true),
    ...(referenceable === undefined ? [] : [`${referenceable}.referenceable: credentials cannot refer to vaults`]),
    ...(check === undefined || typeof check === "function" ? [] : ["credentials.check: expected a function"]),
  ];
}

const KNOWN_FACTS = ["key", "schema", "check"];

const referenceableMembers = ({ referenceable, properties }: SchemaNode, path: string): readonly string[] => [
  ...(referenceable ? [path] : []),
  ...Object.entries(properties ?? {}).flatMap(([name, member]) => referenceableMembers(member, `${path}.${name}`)),
];

const SEGMENT = /^[a-z\d][a-z\d-]*$/;

const targets: ReadonlySet<unknown> = new Set(["service", "route", "consumer", "consumer_group"]);

const shown = (value: unknown): string => (value === undefined ? "undefined" : (JSON.stringify(value) ?? typeof value));

const types: readonly unknown[] = ["string", "integer", "number", "boolean", "array", "object"];

/** The keywords of `SchemaNode`, each with a check of its value. */
const keywords: Readonly<Record<keyof SchemaNode, (value: unknown) => boolean>> = {
  type: (value) => types.includes(value),
  description: (value) => typeof value === "string",
  default: () => true,
  nullable: (value) => typeof value === "boolean",
  enum: Array.isArray,
  format: (value) => value === "uuid",
  pattern: (value) => typeof value === "string",
  minLength: Number.isInteger,
  maxLength: Number.isInteger,
  minimum: Number.isFinite,
  maximum: Number.isFinite,
  exclusiveMinimum: Number.isFinite,
  minItems: Number.isInteger,
  maxItems: Number.isInteger,
  minProperties: Number.isInteger,
  maxProperties: Number.isInteger,
  uniqueItems: (value) => typeof value === "boolean",
  items: isRecord,
  properties: isRecord,
  required: (value) => Array.isArray(value) && value.every((name) => typeof name === "string"),
  additionalProperties: (value) => typeof value === "boolean" || isRecord(value),
  reference: () => false,
  onDelete: () => false,
  rule: (value) => typeof value === "string",
  deprecatedMembers: Array.isArray,
  unsupportedMembers: isRecord,
  secret: (value) => value === true,
  referenceable: (value) => value === true,
};

/** The keywords of `SchemaNode`, and `keyRule`, which only mappings of the SDK have. */
const known: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...keywords,
  keyRule: (value) => typeof value === "string" && Object.hasOwn(textRules, value),
};

function hasType(value: unknown, type: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (type === "integer") return Number.isInteger(value);
  if (type === "array") return Array.isArray(value);
  return type === "object" ? isRecord(value) : typeof value === type;
}

/** The limit ends the check of a schema that contains itself; deeper nesting is a mistake anyway. */
const MAX_DEPTH = 16;

function schemaFaults(schema: unknown, path: string, isConfig = false, depth = 0): readonly string[] {
  if (!isRecord(schema))
    return [`${path}: expected a schema, such as record({ ... }) of the SDK, not ${shown(schema)}`];
  if (depth > MAX_DEPTH) return [`${path}: nested more than ${MAX_DEPTH} levels deep`];
  const { type, rule, properties, items, additionalProperties } = schema;
  if (!types.includes(type))
    return [`${path}: unknown type ${shown(type)}: use the functions of the SDK, such as text()`];
  if (isConfig && (type !== "object" || !isRecord(properties)))
    return [`${path}: expected a record({ ... }) with the config's fields`];
  const rules = type === "object" ? recordRules : textRules;
  return [
    ...(schema.referenceable && (type !== "string" || rule !== undefined)
      ? [`${path}.referenceable: expected a text() without rule; check its value in the plugin's check`]
      : []),
    ...(hasType(schema.default, type) ? [] : [`${path}.default: ${shown(schema.default)} is not of type ${type}`]),
    ...Object.entries(schema).flatMap(([keyword, value]) => {
      const check = Object.hasOwn(known, keyword) ? known[keyword] : undefined;
      if (check === undefined)
        return [`${path}: unknown keyword ${keyword}${suggestionFor(keyword, Object.keys(known))}`];
      return value === undefined || check(value) ? [] : [`${path}.${keyword}: ${shown(value)} is not allowed`];
    }),
    ...(typeof rule === "string" && !Object.hasOwn(rules, rule)
      ? [`${path}.rule: there is no rule ${rule}${suggestionFor(rule, Object.keys(rules))}`]
      : []),
    ...(isRecord(properties)
      ? Object.entries(properties).flatMap(([name, member]) =>
          schemaFaults(member, `${path}.${name}`, false, depth + 1),
        )
      : []),
    ...(isRecord(items) ? schemaFaults(items, `${path}.items`, false, depth + 1) : []),
    ...(isRecord(additionalProperties)
      ? schemaFaults(additionalProperties, `${path}.additionalProperties`, false, depth + 1)
      : []),
  ];
}
