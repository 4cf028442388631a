/** JSON schemas for kubeconform, from an API server's OpenAPI document. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly format?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly "x-kubernetes-group-version-kind"?: readonly { group: string; version: string; kind: string }[];
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

type Schemas = Readonly<Record<string, Schema>>;

/** The value of kubeconform's -schema-location for the folder. */
export const schemaLocation = (folder: string): string =>
  join(folder, "{{ .Group }}-{{ .ResourceAPIVersion }}-{{ .ResourceKind }}.json");

/**
 * Writes a schema for each kind of the API server, including ours. Unknown members are errors.
 *
 * @param openApi The body of `/openapi/v2`.
 */
export function writeSchemas(folder: string, openApi: string): void {
  const { definitions }: { definitions: Schemas } = JSON.parse(openApi);
  const closed = Object.fromEntries(Object.entries(definitions).map(([name, schema]) => [name, closedSchema(schema)]));
  for (const [name, schema] of Object.entries(definitions)) {
    const [known, ...others] = schema["x-kubernetes-group-version-kind"] ?? [];
    // DeleteOptions and similar kinds belong to all groups and are not objects.
    if (known === undefined || others.length > 0) continue;
    const { group, version, kind } = known;
    // kubeconform uses the version as the group of core kinds.
    const file = `${group || version}-${version}-${kind.toLowerCase()}.json`;
    const used = Object.fromEntries([...reachable(name, closed)].map((used) => [used, closed[used]]));
    writeFileSync(join(folder, file), JSON.stringify({ $ref: `#/definitions/${name}`, definitions: used }));
  }
}

/** An OpenAPI schema as JSON Schema, in which unknown members are errors. */
function closedSchema(schema: Schema): Schema | object {
  const { properties, items, additionalProperties, ...rest } = schema;
  if (rest.format === "int-or-string") return { type: ["integer", "string"] };
  const isOpen = properties === undefined || schema["x-kubernetes-preserve-unknown-fields"] === true;
  return {
    ...rest,
    ...(properties && {
      properties: Object.fromEntries(Object.entries(properties).map(([name, member]) => [name, closedSchema(member)])),
    }),
    ...(items && { items: closedSchema(items) }),
    ...(typeof additionalProperties === "object" && { additionalProperties: closedSchema(additionalProperties) }),
    ...(!isOpen && additionalProperties === undefined && { additionalProperties: false }),
  };
}

function reachable(name: string, schemas: Readonly<Record<string, unknown>>, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  for (const [, next = ""] of JSON.stringify(schemas[name] ?? {}).matchAll(/"#\/definitions\/([^"]+)"/g))
    reachable(next, schemas, seen);
  return seen;
}
