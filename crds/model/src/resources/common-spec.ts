/** Members that the specs of several kinds have in common. */
import type { PrinterColumn, SpecNode } from "./kind.ts";

/** Kubernetes' limits for most names (RFC 1123 subdomain), so that a reference can contain only possible names. */
const dnsSubdomain = {
  minLength: 1,
  maxLength: 253,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
};
/** Kubernetes' limits for the names of core Services (RFC 1035 label). */
const dnsLabel = { minLength: 1, maxLength: 63, pattern: "^[a-z]([-a-z0-9]*[a-z0-9])?$" };

export const DEFAULT_CLASS = "sluice";

/** The `spec.controller` of the IngressClasses of the installation with this class. */
export const ingressController = (className: string): string =>
  className === DEFAULT_CLASS ? "sluice.dev/ingress-controller" : `sluice.dev/ingress-controller/${className}`;

/** The `spec.controllerName` of the GatewayClasses of the installation with this class. */
export const gatewayController = (className: string): string =>
  className === DEFAULT_CLASS ? "sluice.dev/gateway-controller" : `sluice.dev/gateway-controller/${className}`;

/** A label of Leases. Its value is the class of the resources without `spec.class` in the Lease's namespace. */
export const CLASS_LABEL = "sluice.dev/class";

/** The label that a Secret must carry for Sluice to read it, unless its type is `TLS_SECRET_TYPE`. */
export const CREDENTIAL_LABEL = "sluice.dev/credential";

/** Members of every spec, besides those of the entity. */
export interface CommonSpec {
  readonly name?: string;
  readonly class?: string;
}

/** The schema of the member `id` of a spec, or of a list entry that is an entity of its own. */
export const entityId = (description: string): SpecNode => ({
  type: "string",
  description,
  format: "uuid",
  maxLength: 36,
});

/** The schema of a record in a spec. */
export const specObject = (
  description: string,
  required: readonly string[],
  properties: Readonly<Record<string, SpecNode>>,
): SpecNode => ({ type: "object", description, additionalProperties: false, required, properties });

/**
 * The schemas of the members that every spec has.
 *
 * @param names The description of `spec.name` for the kind.
 */
export const commonSpecMembers = (names: string): Readonly<Record<string, SpecNode>> => ({
  name: { type: "string", description: names, maxLength: 256 },
  id: entityId("The entity's UUID. Derived from the entity's name (UUIDv5) if unset."),
  class: {
    type: "string",
    description:
      "Class of the Sluice installation that handles the resource, if several share a cluster. Default: the class of " +
      "the installation whose home namespace contains the resource, or to which the resource's namespace is " +
      `assigned (classlessNamespaces of the chart); otherwise ${DEFAULT_CLASS}.`,
    ...dnsLabel,
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
  },
});

export const namedEntity = (kind: string) =>
  `The ${kind}'s name, unique across namespaces. Default: metadata.name in Sluice's home namespace, ` +
  `<namespace>.<metadata.name> elsewhere. If empty, the ${kind} has no name.`;

/** A reference to a resource. A reference to another namespace needs a ReferenceGrant there (Gateway API). */
export interface NameRef {
  readonly name: string;
  /** Default: the namespace of the referring resource. */
  readonly namespace?: string;
}

/** The schema of the member `namespace` of a reference. */
const namespaceOf = (what: string): SpecNode => ({
  type: "string",
  description: `Namespace of the ${what}. A reference to another namespace needs a ReferenceGrant there.`,
  ...dnsLabel,
  pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
});

export const nameRef = (description: string, of: string): SpecNode =>
  specObject(description, ["name"], {
    name: { type: "string", description: `metadata.name of the ${of}.`, ...dnsSubdomain },
    namespace: namespaceOf(of),
  });

/** `clientCertificateRef` of kinds that describe upstreams reached over TLS. */
export const clientCertificateRef = (towards: string): SpecNode =>
  nameRef(`The client certificate for ${towards}.`, "Certificate");

export interface BackendRef extends NameRef {
  readonly port: number;
}

export const backendRef: SpecNode = specObject(
  "A core Service, by name and port. Requests are distributed among its endpoints.",
  ["name", "port"],
  {
    name: { type: "string", description: "metadata.name of the core Service.", ...dnsLabel },
    namespace: namespaceOf("core Service"),
    port: { type: "integer", description: "A port of the core Service.", minimum: 1, maximum: 65_535 },
  },
);

export interface SecretRef extends NameRef {
  readonly key: string;
}

export const secretRef = (what: string): SpecNode =>
  specObject(`${what}, in a core Secret with the label ${CREDENTIAL_LABEL}.`, ["name", "key"], {
    ...nameRef("", "Secret").properties,
    key: {
      type: "string",
      description: "Key of the entry in the Secret's data.",
      minLength: 1,
      maxLength: 253,
      pattern: "^[-._a-zA-Z0-9]+$",
    },
  });

export interface ConfigFrom {
  /** A dot-separated path into config: `redis.password`. */
  readonly path: string;
  readonly secretRef: SecretRef;
}

/** The schema of the member `configFrom`, in a spec or an entry that also has a `config`. */
export const configFrom: SpecNode = {
  type: "array",
  description: "Fields of config whose values are read from Secrets, such as a password.",
  maxItems: 16,
  listMapKeys: ["path"],
  items: specObject("One field of config.", ["path", "secretRef"], {
    path: {
      type: "string",
      description: "Path of the field in config, with dots between levels, such as redis.password.",
      minLength: 1,
      maxLength: 256,
      pattern: "^[a-z0-9_]+(\\.[a-z0-9_]+)*$",
    },
    secretRef: secretRef("The field's value"),
  }),
};

/** The columns that `kubectl get` shows for every kind: the state of the resource. */
export const stateColumns: readonly PrinterColumn[] = [
  {
    name: "Accepted",
    jsonPath: '.status.conditions[?(@.type=="Accepted")].status',
    description: "Whether the resource is valid and in use.",
  },
  {
    name: "Programmed",
    jsonPath: '.status.conditions[?(@.type=="Programmed")].status',
    description: "Whether every ready node serves the resource.",
  },
  {
    name: "Age",
    jsonPath: ".metadata.creationTimestamp",
    type: "date",
    description: "Time since the resource was created.",
  },
  {
    name: "Message",
    jsonPath: '.status.conditions[?(@.type=="Accepted")].message',
    description: "Message of the condition Accepted: what to change if the resource is not accepted.",
    priority: 1,
  },
];
