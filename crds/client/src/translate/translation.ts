/** What translation takes and gives. */
import type { Collection, ResourceKind, Violation } from "@sluice/model";
import type { Resource } from "../resource.ts";

export type Path = Violation["path"];

/** A fault in a resource. Its path starts at the resource's root: `["spec", "readTimeout"]`. */
export interface ResourceViolation extends Violation {
  /** The condition that it makes False. */
  readonly condition: "Accepted" | "ResolvedRefs";
  readonly reason: Reason;
}

/** CamelCase words that programs may match. NotAllowed goes with Accepted, Invalid with both, the others with ResolvedRefs. */
export type Reason =
  | "Invalid"
  | "NotAllowed"
  | "CertificateNotFound"
  | "UpstreamNotFound"
  | "ServiceNotFound"
  | "RouteNotFound"
  | "ConsumerNotFound"
  | "PluginNotFound"
  | "BackendNotFound"
  | "RefNotPermitted"
  | "SecretNotFound";

/** A reference that leaves its namespace, as a ReferenceGrant of the other one may allow it. */
export interface CrossNamespaceReference {
  readonly from: { readonly kind: ResourceKind; readonly namespace: string };
  readonly to: {
    readonly kind: ResourceKind | "Secret" | "CoreService";
    readonly namespace: string;
    readonly name: string;
  };
}

/** What a translation may ask for. An answer that changes later calls for a new translation. */
export interface TranslateOptions {
  readonly homeNamespace: string;
  /** The id of the entity that a resource of ours stands for; undefined when there is no such resource. */
  readonly resolve: (kind: ResourceKind, namespace: string, name: string) => string | undefined;
  /** A Secret or a core Service; undefined when there is none. */
  readonly read: (kind: "Secret" | "CoreService", namespace: string, name: string) => Resource | undefined;
  /** Whether a reference may leave its namespace. */
  readonly isReferenceAllowed: (crossing: CrossNamespaceReference) => boolean;
  /** Other namespaces whose routes the keys of this namespace's Consumers open. */
  readonly namespacesOpenTo: (namespace: string) => readonly string[];
  /**
   * `nodes`: keys of consumers as hashes, config with the members from Secrets, and `_sluice`. `admin`: keys in clear, config with
   * members from Secrets that the admin listener made and from no others, no `_sluice`, and core Services are not looked for.
   */
  readonly audience: "nodes" | "admin";
}

/** Another resource of ours. */
export interface ResourceReference {
  readonly kind: ResourceKind;
  readonly namespace: string;
  readonly name: string;
}

/** A core Service that a Service of ours stands for: its endpoints come from its EndpointSlices. */
export interface BackendService {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** One entity of a resource, unchecked. */
export interface TranslatedEntity {
  readonly collection: Collection;
  /** Flat, in snake_case, references as `{ id }`; one that was not found is `{}`, which no check lets through. */
  readonly item: Readonly<Record<string, unknown>> & { readonly id: string };
  /** Where members of the item stand in the resource, when not at the place that their spelling says. */
  readonly sourcePaths: Readonly<Record<string, Path>>;
  /** Where the item stands in the resource: `["spec"]`, `["spec", "keyAuth", 0]`. */
  readonly basePath: Path;
  readonly violations: readonly ResourceViolation[];
  /** The resources that it cannot do without, as far as they can be told. */
  readonly references?: readonly ResourceReference[];
  /** Services only. */
  readonly backend?: BackendService;
  /** Plugins and services only: paths into the item of what came from Secrets and must not be written down. */
  readonly secretPaths?: readonly Path[];
}
