/**
 * Resources as this client reads and writes them: plain Kubernetes objects, whether a cluster or a directory holds
 * them.
 */
import type { ParameterKind } from "@sluice/model";

/** Sluice's own kinds (group sluice.dev) whose resources represent entities. */
export type SluiceKind =
  | "Certificate"
  | "CACertificate"
  | "Upstream"
  | "Service"
  | "Route"
  | "Plugin"
  | "ConsumerGroup"
  | "Consumer"
  | "Vault"
  | "GraphQLDocuments";
/**
 * Foreign kinds that are read or, like Secret and Deployment, written. `CoreService` is v1 Service. Namespaces,
 * IngressClasses and GatewayClasses have no namespace; of a Namespace, only the name and the labels are read.
 */
export type CoreKind =
  | "ConfigMap"
  | "Secret"
  | "CoreService"
  | "EndpointSlice"
  | "Ingress"
  | "IngressClass"
  | "Lease"
  | "Namespace"
  | "Deployment"
  | "ServiceAccount"
  | "PodDisruptionBudget"
  | "HorizontalPodAutoscaler"
  | GatewayApiKind;
/** The kinds of the Gateway API (group gateway.networking.k8s.io) that are read. Their CRDs may be absent. */
export type GatewayApiKind =
  | "GatewayClass"
  | "Gateway"
  | "ListenerSet"
  | "HTTPRoute"
  | "GRPCRoute"
  | "TLSRoute"
  | "ReferenceGrant"
  | "BackendTLSPolicy";
export type Kind = SluiceKind | ParameterKind | CoreKind;

export interface Metadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid?: string;
  /** Opaque; changes with every write. */
  readonly resourceVersion?: string;
  /** Changes whenever the spec does. */
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  /** The objects in the same namespace with which Kubernetes deletes this one. */
  readonly ownerReferences?: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly name: string;
    readonly uid: string;
  }[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly {
    readonly manager?: string;
    readonly operation?: string;
    readonly subresource?: string;
    readonly time?: string;
    readonly fieldsV1?: unknown;
  }[];
  /** Instead of managedFields (see WatchOptions): the manager of the last write to anything but the status. */
  readonly lastManager?: string;
}

/** metav1.Condition. */
export interface Condition {
  readonly type: "Accepted" | "ResolvedRefs" | "Programmed" | (string & {});
  readonly status: "True" | "False" | "Unknown";
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
  readonly reason: string;
  readonly message: string;
}

export interface Resource {
  readonly apiVersion: string;
  /** The Kubernetes kind ("Service" for a core Service too: apiVersion distinguishes them). */
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly Condition[]; readonly [member: string]: unknown };
  /** The data of a Secret, with values in base64. */
  readonly data?: Readonly<Record<string, string>>;
  readonly type?: string;
  readonly [member: string]: unknown;
}

export interface Ref {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Selects resources of a kind; by default all. If both `labels` and `fields` are given, a resource must match both.
 *
 * Callers request only those Secrets that are meant for Sluice: Secrets with the label `sluice.dev/credential`; Secrets
 * of type kubernetes.io/tls, because cert-manager and other writers of certificates do not set Sluice's label; and
 * single Secrets that an Ingress or a BackendTLSPolicy names.
 */
export interface Selectors {
  readonly namespace?: string;
  /** Label selector, such as `sluice.dev/credential`. */
  readonly labels?: string;
  /** Field selector: `metadata.name=<name>`, or `type=<type>` for Secrets. */
  readonly fields?: string;
}

/** Receives the contents of a watched kind. Level-triggered: `replaced` supersedes everything before it. */
export interface Observer {
  /** Called with all resources of the kind after the first and every further list. From then on, the kind is synced. */
  replaced(resources: readonly Resource[]): void;
  changed(resource: Resource): void;
  removed(resource: Resource): void;
  /**
   * Called when the kind cannot be read. The client keeps trying, and calls `replaced` when it succeeds. Meant for logs
   * and readiness. In a cluster, interruptions of a few seconds are not reported.
   */
  lost?(error: Error): void;
  /**
   * Called with the error when a read of the kind fails, and with null when a later read succeeds. The end of a stream
   * is not reported, nor is an interruption that the next attempt bridges. Meant for status reports, which also count
   * `lost` as a failure until a read succeeds.
   */
  failure?(error: Error | null): void;
}

export interface WatchOptions extends Selectors {
  readonly signal: AbortSignal;
  /**
   * Whether resources are delivered with kubectl's last-applied annotation, and Sluice's own kinds also with
   * managedFields. These take more memory than all other members together. Without them, Sluice's own kinds have
   * `lastManager`. Default true.
   */
  readonly bookkeeping?: boolean;
}

export interface ApplyOptions {
  /** The field manager. */
  readonly manager: string;
  /**
   * `absent`: fail with a Conflict if the object exists. `{uid, resourceVersion}`: fail with a Conflict unless it is
   * that object at that version. Unset: create or update.
   */
  readonly expect?: "absent" | { readonly uid: string; readonly resourceVersion: string };
  /** Take over fields that other managers own. */
  readonly force?: boolean;
  /**
   * The managedFields to write before the apply, because an apply removes an omitted field only if its manager owns the
   * field. They are written only if `expect` is an object. Writing them changes nothing else, so no reader sees half of
   * the write. Not needed where there are no field managers.
   */
  readonly managedFields?: Metadata["managedFields"];
}

export interface RemoveOptions {
  /** The expected uid: fail with a Conflict if the object of that name has a different uid. */
  readonly uid?: string;
}

/** A write that lost a race or met another owner: the object exists, has changed, or belongs to another manager. */
export class Conflict extends Error {
  readonly reason: "exists" | "changed" | "owned";
  /** For the reason `owned`: the owning manager of each field. */
  readonly owners: readonly { readonly manager: string; readonly field: string }[];
  constructor(reason: Conflict["reason"], message: string, owners: Conflict["owners"] = []) {
    super(message);
    this.name = "Conflict";
    this.reason = reason;
    this.owners = owners;
  }
}

/**
 * The API server or the directory refuses the write: schema, CEL, admission or permissions. The message is that of the
 * API server or the directory.
 */
export class ResourceRejected extends Error {
  override readonly name = "Rejected";
}

/**
 * The cluster does not serve the kind (its CRD is missing): earlier results say nothing about existing resources. Reads
 * reject with this error; watches pass it to `lost` and `failure`.
 */
export class UnknownKind extends Error {
  override readonly name = "UnknownKind";
}

/** A period in which no other process writes. */
export interface MutexHold {
  /** Whether another process may have held the mutex since this process last held it. */
  readonly othersMayHaveWritten: boolean;
  /**
   * Whether this process still holds the mutex: a process that was suspended for a long time may have lost it. Absent
   * where the mutex cannot be lost while its process lives.
   */
  readonly isHeld?: () => boolean;
}

export interface ConditionsOptions {
  readonly manager: string;
  /**
   * The resource as the caller has read it, if the manager has written no status since. The client then does not read
   * the resource again, and treats the given conditions as the manager's full set: it may remove other conditions of
   * this manager.
   */
  readonly read?: Resource;
  /** Ends the wait for the API server; the request may have been executed. */
  readonly signal?: AbortSignal;
}

export interface ApplyStatusOptions extends Pick<ConditionsOptions, "manager" | "signal"> {
  /** The expected uid: nothing is written to another object of the same name. */
  readonly uid: string | undefined;
  /** The expected version: nothing is written if the object has changed. For lists that several writers share. */
  readonly resourceVersion?: string;
}

/** Reads and writes resources. Implementations: cluster and directory; one suite runs for both. */
export interface ResourceClient {
  get(ref: Ref): Promise<Resource | null>;
  list(kind: Kind, options?: Selectors): Promise<readonly Resource[]>;
  /** File and line of the resource, as last read: `/etc/sluice/routes.yaml:3:1`. Null: it is in no file, or unknown. */
  placeOf(ref: Ref): string | null;
  /** Lists and then follows the kind until the signal aborts. Never throws: errors go to the observer. */
  watch(kind: Kind, observer: Observer, options: WatchOptions): void;
  /**
   * Reopens all watches at their position. Meant for callers that know of a connection loss: the client itself notices
   * a stream that died silently only when a bookmark is overdue, after more than a minute.
   */
  rewatch(): void;
  /** Server-side apply of the full set of fields that the manager owns. Never touches status. */
  apply(kind: Kind, resource: Resource, options: ApplyOptions): Promise<Resource>;
  /** Resolves when the resource is gone; false if it did not exist. */
  remove(ref: Ref, options?: RemoveOptions): Promise<boolean>;
  /** Writes Sluice's conditions into the status and keeps those of other writers; no write when nothing changes. */
  setConditions(ref: Ref, conditions: readonly Condition[], options: ConditionsOptions): Promise<void>;
  /**
   * Server-side apply of the status, which takes over fields of other managers. Does nothing when the resource does not
   * exist. For statuses that are not Sluice's conditions, such as an Ingress'.
   */
  applyStatus(ref: Ref, status: Resource["status"], options: ApplyStatusOptions): Promise<void>;
  /**
   * Records an Event on a resource (`kubectl describe`); repeats are counted instead of listed. Rejects with
   * `ResourceRejected` if a repeated call cannot succeed.
   */
  recordEvent(
    ref: Ref,
    event: {
      readonly type: "Normal" | "Warning";
      readonly reason: string;
      readonly message: string;
      readonly reporter: string;
    },
  ): Promise<void>;
  /**
   * Runs the function while no other call in any process holds the mutex of this name. In a cluster, the mutex is a
   * Lease of this name. Rejects when another process holds the mutex for too long.
   */
  withMutex<Result>(
    of: { readonly namespace: string; readonly name: string },
    run: (hold: MutexHold) => Promise<Result>,
  ): Promise<Result>;
  close(): Promise<void>;
}

/** The members of a Lease that describe its holder. */
export interface LeaseRecord {
  /** Empty: no holder. */
  readonly holder: string;
  /** Milliseconds without renewal after which another process may take the Lease. */
  readonly duration: number;
  /** Increases whenever a process takes the Lease. */
  readonly transitions: number;
}

export interface VersionedLease extends LeaseRecord {
  /** Opaque; changes with every write. */
  readonly version: string;
}

/** One Lease. A call with a signal rejects when the signal aborts. */
export interface LeaseStore {
  /** Null: the Lease does not exist. */
  read(signal?: AbortSignal): Promise<VersionedLease | null>;
  /** Rejects with a Conflict when the Lease does not have the version of `before` (null: when a Lease exists). */
  write(
    record: LeaseRecord,
    options: { readonly before: VersionedLease | null; readonly signal?: AbortSignal },
  ): Promise<VersionedLease>;
  close(): Promise<void>;
}

/**
 * Storage for the operator's own state, in the same place as its resources: parts, and a manifest that names the parts
 * in use. The operator encrypts the parts before it stores them.
 */
export interface StateBackend {
  /** The encryption key, 32 random bytes; created by the first call of any process. */
  key(): Promise<Buffer>;
  /** The manifest's text and version; null if there is none. */
  manifest(): Promise<{ readonly text: string; readonly version: string } | null>;
  /**
   * Returns the new version. Rejects with a Conflict when the manifest's version is not `before` (null: when a manifest
   * exists).
   */
  putManifest(text: string, before: string | null): Promise<string>;
  /** Names of all parts, whether or not the manifest names them. */
  parts(): Promise<readonly string[]>;
  /** Null: the part does not exist. */
  part(name: string): Promise<Buffer | null>;
  /**
   * Stores a part of at most 1 MiB. Names consist of a-z and 0-9. The caller ensures that an existing part of this name
   * has the same content.
   */
  putPart(name: string, content: Buffer): Promise<void>;
  removePart(name: string): Promise<void>;
  close(): Promise<void>;
}
