/**
 * Derived resources: Sluice resources that exist only in memory, made from resources of other APIs such as Ingress.
 * They are translated like the resources of the API server; their problems belong to the resource that they were made
 * from.
 */
import { hash } from "node:crypto";
import {
  apiVersion,
  type CertificateExtras,
  CREDENTIAL_LABEL,
  type PluginExtras,
  type RouteExtras,
  type ServiceExtras,
  type UpstreamExtras,
  type Violation,
} from "@sluice/model";
import type { Kind, Ref, Resource, SluiceKind } from "../resource.ts";
import type { CrossNamespaceReference } from "../translate/translation.ts";

export interface DerivedResource extends Resource {
  readonly derived: {
    /** Members of the `_sluice` of a route, a plugin, a service, an upstream or a certificate. */
    readonly extras?: RouteExtras & PluginExtras & ServiceExtras & UpstreamExtras & CertificateExtras;
    /**
     * The kinds for which the references of this resource into other namespaces need no ReferenceGrant any more: they
     * were checked when the resource was derived, because ReferenceGrants name the kind of the source. Default: none.
     */
    readonly checkedReferences?: readonly CrossNamespaceReference["to"]["kind"][];
    /** The resource that this one was made from; of several, the oldest. */
    readonly source: Ref;
    /** Changes with every part of the resource that its generation does not count. Default: it is unused. */
    readonly version?: string;
    /**
     * Where the source has the values of this resource, by the path in this resource: `spec.backendRef` ->
     * `spec.rules[0].http.paths[0].backend.service`. A violation is reported at the source path of its own path or, if
     * that has none, of the nearest path above it.
     */
    readonly sourcePaths: Readonly<Record<string, string>>;
    /**
     * The Services, of the same namespace, without which a Plugin is not served. Its config has only the names of their
     * entities, which a Service of any namespace can have. Default: none.
     */
    readonly requiredServices?: readonly string[];
    /** Why the resource does not do what its source asks for; shown in the status of the source. Default: it does. */
    readonly fault?: string;
  };
}

/** The maximum number of resources of one source: as many as are translated in less than a second. */
export const MAX_DERIVED = 4096;

/** The kinds from which resources are derived, by the first part of the derived resources' names. */
const sourceKinds = {
  ingress: "Ingress",
  gateway: "Gateway",
  "listener-set": "ListenerSet",
  "http-route": "HTTPRoute",
  "grpc-route": "GRPCRoute",
  "tls-route": "TLSRoute",
  plugin: "Plugin",
} as const satisfies Readonly<Record<string, Kind>>;

type SourcePrefix = keyof typeof sourceKinds;

/**
 * The character between the parts of a derived resource's name. Kubernetes does not allow it in names, so that no
 * resource of the API server has the name of a derived resource. Names of entities may contain it.
 */
const SEPARATOR = "~";

/** The first part of the name of a Certificate for a Secret in `spec.tls`, which may have several sources. */
export const DERIVED_TLS = "ingress-tls";

/** Names of entities have at most 256 characters, of which the namespace may take 64. */
const MAX_NAME = 190;
const HASH_LENGTH = 10;

export const shortHash = (text: string): string => hash("sha256", text).slice(0, HASH_LENGTH);

/**
 * `ingress~web~example.com~api` for the parts `example.com` and `api` of the Ingress `web`. The end of a long name is
 * replaced by a hash.
 */
export function derivedName(prefix: SourcePrefix, sourceName: string, ...parts: readonly string[]): string {
  const name = [prefix, sourceName, ...parts].join(SEPARATOR);
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, MAX_NAME - HASH_LENGTH - 1)}${SEPARATOR}${shortHash(name)}`;
}

export const isDerivedName = (name: string): boolean => name.includes(SEPARATOR);

/**
 * The resource that a derived resource was made from, by its name; undefined for other resources, if there are several,
 * and if the name of the source is too long.
 */
export function sourceOf({ namespace, name }: Pick<Ref, "namespace" | "name">): Ref | undefined {
  const [prefix = "", sourceName, ...parts] = name.split(SEPARATOR);
  if (sourceName === undefined || !Object.hasOwn(sourceKinds, prefix)) return undefined;
  // The name of the source is cut.
  if (name.length === MAX_NAME && parts.length === 1 && /^[0-9a-f]{10}$/.test(parts[0] ?? "")) return undefined;
  return { kind: sourceKinds[prefix as SourcePrefix], namespace, name: sourceName };
}

export interface DerivedContent {
  readonly kind: SluiceKind;
  readonly name: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly derived: Omit<DerivedResource["derived"], "source">;
}

/**
 * The uid and the creation time are those of the source, so that the older source takes precedence, as with other
 * resources.
 */
export function derivedResource(source: Resource, { kind, name, spec, derived }: DerivedContent): DerivedResource {
  const { namespace, uid, creationTimestamp } = source.metadata;
  const metadata = { name, namespace, uid, creationTimestamp } as Resource["metadata"];
  const origin: Ref = { kind: source.kind as Kind, namespace, name: source.metadata.name };
  return { apiVersion, kind, metadata, spec, derived: { ...derived, source: origin } };
}

/** A Secret for a derived resource that refers to it. */
export function derivedSecret(
  source: Resource,
  name: string,
  { entries, type = "Opaque" }: { readonly entries: Readonly<Record<string, string>>; readonly type?: string },
): Resource {
  const { namespace, uid, creationTimestamp } = source.metadata;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, uid, creationTimestamp, labels: { [CREDENTIAL_LABEL]: "" } } as Resource["metadata"],
    type,
    data: Object.fromEntries(
      Object.entries(entries).map(([key, value]) => [key, Buffer.from(value, "utf8").toString("base64")]),
    ),
  };
}

/** The violation with its path in the source. Returns violations of resources that are not derived unchanged. */
export function locateAtSource<Fault extends Violation>(resource: Resource, fault: Fault): Fault {
  const { sourcePaths } = (resource as Partial<DerivedResource>).derived ?? {};
  if (!sourcePaths) return fault;
  for (let length = fault.path.length; length > 0; length--) {
    const found = sourcePaths[fault.path.slice(0, length).join(".")];
    if (found !== undefined) return { ...fault, path: [found] };
  }
  return fault;
}
