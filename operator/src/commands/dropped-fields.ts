/** Finds members of stored resources that another version of their CRD would drop or reject. Pure. */

/** The parts of a structural schema that define members. */
export interface OpenApiSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly additionalProperties?: OpenApiSchema | boolean;
  readonly items?: OpenApiSchema;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

/** The parts of a CustomResourceDefinition that are compared. */
export interface Definition {
  readonly spec?: {
    readonly versions?: readonly {
      readonly name: string;
      readonly schema?: { readonly openAPIV3Schema?: OpenApiSchema };
    }[];
  };
  readonly status?: { readonly storedVersions?: readonly string[] };
}

/** Members of every object, whatever its schema. */
const always = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Returns one line for each member or version that `stored` declares and `ours` lacks, and for each member whose type
 * differs: `spec.retries`, `version v1beta1`, `spec.port (string in the cluster, integer in this version)`. The members
 * of a missing member are not listed. A missing version is listed only if resources are stored in it.
 */
export function droppedFields(stored: Definition, ours: Definition): readonly string[] {
  const known = new Map(versionsOf(ours).map(({ name, schema }) => [name, schema?.openAPIV3Schema ?? {}]));
  const storedIn = new Set(stored.status?.storedVersions ?? []);
  return versionsOf(stored).flatMap(({ name, schema }) => {
    const other = known.get(name);
    if (!other) return storedIn.has(name) ? [`version ${name}`] : [];
    const members = Object.entries(schema?.openAPIV3Schema?.properties ?? {}).filter(([member]) => !always.has(member));
    return dropped({ properties: Object.fromEntries(members) }, other, "");
  });
}

const versionsOf = ({ spec }: Definition) => spec?.versions ?? [];

function dropped(stored: OpenApiSchema, ours: OpenApiSchema, path: string): readonly string[] {
  if (stored.type !== undefined && stored.type !== ours.type && ours.type !== undefined)
    return [`${path} (${stored.type} in the cluster, ${ours.type} in this version)`];
  if (isOpen(ours)) return [];
  if (isOpen(stored)) return [`${path}.* (arbitrary members)`];
  const values = typeof ours.additionalProperties === "object" ? ours.additionalProperties : undefined;
  return [
    ...Object.entries(stored.properties ?? {}).flatMap(([name, member]) => {
      const place = path === "" ? name : `${path}.${name}`;
      const same = own(ours.properties, name) ?? values;
      return same ? dropped(member, same, place) : [place];
    }),
    ...inner(stored.items, ours.items, `${path}[]`),
    ...inner(objectOf(stored.additionalProperties), values, `${path}.*`),
  ];
}

const isOpen = (schema: OpenApiSchema): boolean =>
  schema["x-kubernetes-preserve-unknown-fields"] === true || schema.additionalProperties === true;

/** Compares the items of a list or the values of a map. If `ours` is undefined, all of them would be dropped. */
const inner = (stored: OpenApiSchema | undefined, ours: OpenApiSchema | undefined, path: string): readonly string[] => {
  if (!stored) return [];
  return ours ? dropped(stored, ours, path) : [path];
};

const objectOf = (schema: OpenApiSchema | boolean | undefined): OpenApiSchema | undefined =>
  typeof schema === "object" ? schema : undefined;

const own = (members: OpenApiSchema["properties"], name: string): OpenApiSchema | undefined =>
  members && Object.hasOwn(members, name) ? members[name] : undefined;
