/** Input and output types of translation. */
import type { Collection, ResourceKind, Violation } from "@sluice/model";
import type { GatewayApiKind, Resource } from "../resource.ts";

export type Path = Violation["path"];

/** A violation in a resource. The violation's path starts at the resource's root: `["spec", "readTimeout"]`. */
export interface ResourceViolation extends Violation {
  /** The condition that the violation sets to False. */
  readonly condition: "Accepted" | "ResolvedRefs";
  readonly reason: Reason;
  /** Whether the entity is served nevertheless, without the part that the violation is about. */
  readonly isPartial?: true;
  /** Of partial violations: whether all parts are served nevertheless, so that the resource may be Programmed. */
  readonly isWarning?: true;
}

/**
 * Reasons in CamelCase that programs may match. NotAllowed is a reason of the condition Accepted, Invalid of both
 * conditions, and the other reasons are of ResolvedRefs.
 */
export type Reason =
  | "Invalid"
  | "NotAllowed"
  | "CertificateNotFound"
  | "UpstreamNotFound"
  | "ServiceNotFound"
  | "RouteNotFound"
  | "ConsumerNotFound"
  | "CACertificateNotFound"
  | "ConsumerGroupNotFound"
  | "TargetNotFound"
  | "VaultNotFound"
  | "GraphQLDocumentsNotFound"
  | "ProtocolMismatch"
  | "PluginNotFound"
  | "BackendNotFound"
  | "RefNotPermitted"
  | "SecretNotFound";

/** A reference across namespaces, which a ReferenceGrant in the target namespace may allow. */
export interface CrossNamespaceReference {
  readonly from: {
    readonly kind: ResourceKind | Exclude<GatewayApiKind, "GatewayClass" | "ReferenceGrant">;
    readonly namespace: string;
  };
  readonly to: {
    readonly kind: ResourceKind | "ConfigMap" | "Secret" | "CoreService";
    readonly namespace: string;
    readonly name: string;
  };
}

/** Options and lookups of a translation. If the result of a lookup changes, the resource must be translated again. */
export interface TranslateOptions {
  readonly homeNamespace: string;
  /** The id of the entity of a Sluice resource; undefined when there is no such resource. */
  readonly resolve: (kind: ResourceKind, namespace: string, name: string) => string | undefined;
  /** A Secret or a core Service; undefined when there is none. */
  readonly read: (kind: "Secret" | "CoreService", namespace: string, name: string) => Resource | undefined;
  /**
   * Whether there is an entity with this name or id, for configs that name entities. Absent: the entities may be created
   * later.
   */
  readonly hasEntity?: (kind: "GraphQLDocuments", nameOrId: string) => boolean;
  /**
   * The protocols of a Route, joined by commas; undefined: there is no such Route, or its protocols are not a list.
   * Absent: the protocols of Plugins are not compared with those of their Routes.
   */
  readonly routeProtocols?: (namespace: string, name: string) => string | undefined;
  /**
   * The different protocols of a Service's Routes, sorted: those of a Route joined by commas, and the Routes by
   * semicolons. Undefined: the Service has no Route. Absent: the protocols of Plugins are not compared with those of
   * their Services' Routes.
   */
  readonly serviceProtocols?: (namespace: string, name: string) => string | undefined;
  /** Whether a cross-namespace reference is allowed. */
  readonly isReferenceAllowed: (crossing: CrossNamespaceReference) => boolean;
  /** Other namespaces for whose routes the keys of this namespace's Consumers are valid. */
  readonly namespacesOpenTo: (namespace: string) => readonly string[];
  /**
   * `nodes`: consumers' keys as hashes, configs and headers with the values from Secrets, and `_sluice`. `admin`: keys
   * in clear text, configs with values only from Secrets that the admin listener created, no headers from Secrets, no
   * `_sluice`, and no lookup of core Services. `file`: as `admin`, but with all values from Secrets.
   */
  readonly audience: "nodes" | "admin" | "file";
}

/** A reference to another Sluice resource. */
export interface ReferencedResource {
  readonly kind: ResourceKind;
  readonly namespace: string;
  readonly name: string;
}

/** A core Service behind a Service or an Upstream of Sluice: its endpoints come from EndpointSlices. */
export interface BackendService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
  /** Its part of the requests, in relation to the other backends and the targets. Only for Upstreams. */
  readonly weight?: number;
}

/** One entity of a resource, not yet validated. */
export interface TranslatedEntity {
  readonly collection: Collection;
  /** Flat, in snake_case, references as `{ id }`; an unresolved reference is `{}`, which every check rejects. */
  readonly item: Readonly<Record<string, unknown>> & { readonly id: string };
  /** Paths in the resource, for those members of the item whose path does not follow from their spelling. */
  readonly sourcePaths: Readonly<Record<string, Path>>;
  /** The item's path in the resource: `["spec"]`, `["spec", "keyAuth", 0]`. */
  readonly basePath: Path;
  readonly violations: readonly ResourceViolation[];
  /** The resources that the entity refers to, existing or not, except those to which a reference is not allowed. */
  readonly references?: readonly ReferencedResource[];
  /** The core Service of a Service with a `backendRef`, or those of an Upstream with `backendRefs`. */
  readonly backends?: readonly BackendService[];
  /** Services, plugins and their credentials: where the item has values from Secrets, which no message may quote. */
  readonly secretPaths?: readonly Path[];
  /** Plugins and their credentials: where the item lacks members from Secrets that the audience does not see. */
  readonly hiddenPaths?: readonly Path[];
}
