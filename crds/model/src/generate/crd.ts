/** CustomResourceDefinitions from the table of kinds: structural schemas, rules, columns. */
import { entities } from "../entities/index.ts";
import { kindFacts, parameterKinds } from "../resources/index.ts";
import {
  apiGroup,
  crdVersion,
  type IntOrString,
  type KindFacts,
  kubectlCategory,
  type ParameterKindFacts,
  pluralOf,
  type SpecNode,
} from "../resources/kind.ts";

type Plain = { readonly [member: string]: unknown };

type CustomKindFacts = KindFacts | ParameterKindFacts;

const nameOf = (facts: CustomKindFacts): string => `${pluralOf(facts)}.${apiGroup}`;

/** The names of the CRDs whose resources represent entities, such as `routes.sluice.dev`. */
export const entityCrdNames: readonly string[] = Object.values(kindFacts).map(nameOf);

/** The names of all CRDs. */
export const crdNames: readonly string[] = [...entityCrdNames, ...Object.values(parameterKinds).map(nameOf)];

/** The CRDs of all kinds, by their names, as plain data. */
export const crds = (): ReadonlyMap<string, Plain> =>
  new Map(
    Object.entries({ ...kindFacts, ...parameterKinds }).map(([kind, facts]) => [nameOf(facts), crd(kind, facts)]),
  );

export function crd(kind: string, facts: CustomKindFacts): Plain {
  const entity = "collection" in facts ? entities[facts.collection] : undefined;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: nameOf(facts) },
    spec: {
      group: apiGroup,
      scope: "Namespaced",
      names: {
        kind,
        listKind: `${kind}List`,
        plural: pluralOf(facts),
        singular: kind.toLowerCase(),
        shortNames: [facts.shortName],
        categories: [kubectlCategory],
      },
      versions: [
        {
          name: crdVersion,
          served: true,
          storage: true,
          ...(entity && { subresources: { status: {} } }),
          additionalPrinterColumns: facts.columns.map(({ type = "string", ...column }) => ({ ...column, type })),
          schema: {
            openAPIV3Schema: {
              type: "object",
              description: facts.spec.description,
              required: ["spec"],
              properties: {
                apiVersion: { type: "string", description: `${apiGroup}/${crdVersion}` },
                kind: { type: "string", description: kind },
                metadata: { type: "object" },
                spec: structuralSchema({
                  ...facts.spec,
                  ...(entity && { description: `Desired state of the ${entity.singular}.` }),
                }),
                ...(entity && { status }),
              },
            },
          },
        },
      ],
    },
  };
}

/**
 * A schema node in keywords that the API server supports. Omitted: defaults (the model fills them in, so that a new
 * default changes no stored object; the description names them), `nullable` (unset members are absent), unique items
 * (the API server has no such check) and Sluice's own rules.
 */
export function structuralSchema(node: SpecNode): Plain {
  return {
    ...pick(node, scalarKeywords),
    ...(node.description !== undefined && { description: describe(node) }),
    ...(node.type === "array" && { "x-kubernetes-list-type": node.listMapKeys ? "map" : "atomic" }),
    ...(node.listMapKeys && { "x-kubernetes-list-map-keys": node.listMapKeys }),
    ...(node.open && { "x-kubernetes-preserve-unknown-fields": true }),
    ...(node.intOrString && { ...pick(node.intOrString, scalarKeywords), "x-kubernetes-int-or-string": true }),
    // The API server does not keep an empty list, so another client that applies it would conflict with the stored CRD.
    ...(node.required && node.required.length > 0 && { required: node.required }),
    ...(node.properties && {
      properties: Object.fromEntries(
        Object.entries(node.properties).map(([name, member]) => [name, structuralSchema(member)]),
      ),
    }),
    ...(typeof node.additionalProperties === "object" && {
      additionalProperties: structuralSchema(node.additionalProperties),
    }),
    ...(node.items && { items: structuralSchema(node.items) }),
    ...(node.cel && node.cel.length > 0 && { "x-kubernetes-validations": node.cel }),
  };
}

function describe({ description = "", default: value }: SpecNode): string {
  if (value === undefined || value === null) return description;
  return `${description} Default: ${typeof value === "string" ? value : JSON.stringify(value)}.`;
}

const scalarKeywords = [
  "type",
  "description",
  "format",
  "pattern",
  "enum",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "minProperties",
  "maxProperties",
] as const;

function pick(node: SpecNode | IntOrString, keywords: readonly (keyof SpecNode)[]): Plain {
  const all: Partial<SpecNode> = node;
  return Object.fromEntries(
    keywords.flatMap((keyword) => (all[keyword] === undefined ? [] : [[keyword, all[keyword]]])),
  );
}

/** The schema of `status`: conditions (metav1.Condition), with the limits of Kubernetes' own API. */
const status: Plain = {
  type: "object",
  description: "State of the resource, written by the operator.",
  properties: {
    conditions: {
      type: "array",
      description:
        "Accepted: the resource is valid and in use. ResolvedRefs: everything it refers to exists. Programmed: " +
        "every ready node serves it.",
      maxItems: 16,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["type"],
      items: {
        type: "object",
        description: "One condition of the resource.",
        required: ["type", "status", "lastTransitionTime", "reason", "message"],
        properties: {
          type: { type: "string", description: "Type of the condition.", minLength: 1, maxLength: 316 },
          status: { type: "string", description: "Whether the condition is met.", enum: ["True", "False", "Unknown"] },
          observedGeneration: {
            type: "integer",
            format: "int64",
            description: "The metadata.generation that the condition describes.",
            minimum: 0,
          },
          lastTransitionTime: {
            type: "string",
            format: "date-time",
            description: "Time of the last change of status.",
          },
          reason: {
            type: "string",
            description: "Reason as one word in CamelCase.",
            minLength: 1,
            maxLength: 1024,
            pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
          },
          message: {
            type: "string",
            description: "Explanation for people. If the status is False, it says what to change.",
            maxLength: 32_768,
          },
        },
      },
    },
  },
};
