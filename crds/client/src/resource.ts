/** Resources as this client reads and writes them: plain Kubernetes objects, whatever holds them. */

/**
 * Kinds of ours (group sluice.dev), and others that are read or, as a Lease, written. `CoreService` is v1 Service.
 * A Namespace lies in no namespace: of it only the name is read. ReferenceGrant is the Gateway API's.
 */
export type SluiceKind = "Certificate" | "Upstream" | "Service" | "Route" | "Plugin" | "Consumer";
export type CoreKind = "Secret" | "CoreService" | "EndpointSlice" | "Lease" | "Namespace" | "ReferenceGrant";
export type Kind = SluiceKind | CoreKind;

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
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly managedFields?: readonly {
    readonly manager?: string;
    readonly operation?: string;
    readonly subresource?: string;
    readonly time?: string;
    readonly fieldsV1?: unknown;
  }[];
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
  /** The Kubernetes kind ("Service" for a core Service too: apiVersion tells them apart). */
  readonly kind: string;
  readonly metadata: Metadata;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: { readonly conditions?: readonly Condition[]; readonly [member: string]: unknown };
  /** Secrets: base64 values. */
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
 * Which resources of a kind; all of them by default. Of Secrets only those are asked for that are meant for Sluice:
 * those with the label `sluice.dev/credential`, and those of the type kubernetes.io/tls, because cert-manager and
 * others who write these put no label of ours on them. Both selectors given: those that match both.
 */
export interface Selectors {
  readonly namespace?: string;
  /** Label selector, such as `sluice.dev/credential`. */
  readonly labels?: string;
  /** Field selector. The only one is `type=<type>`, for Secrets. */
  readonly fields?: string;
}

/** Told what a watched kind holds. Level-triggered: after `replaced` everything before it is forgotten. */
export interface Observer {
  /** All resources of the kind, after the first and every further list. The kind is synced from here on. */
  replaced(resources: readonly Resource[]): void;
  changed(resource: Resource): void;
  removed(resource: Resource): void;
  /**
   * The kind cannot be read for now and is not synced any more; the client goes on trying, and `replaced` tells when
   * it can be read again. For logs and readiness. An interruption of some seconds is not told.
   */
  lost?(error: Error): void;
  /**
   * An attempt to read the kind has failed; null: one has succeeded since, though it brought no list. What was read
   * before counts as long as nothing is `lost`, which is trouble too, until `replaced`. A stream that ends is none, nor
   * is an interruption that the next attempt bridges. For those who are asked how things stand.
   */
  trouble?(error: Error | null): void;
}

export interface WatchOptions extends Selectors {
  readonly signal: AbortSignal;
  /**
   * Whether resources of ours come with what their writers keep about them: managedFields, and kubectl's copy of what it
   * applied. They take more memory than all the rest. Default true.
   */
  readonly bookkeeping?: boolean;
}

export interface ApplyOptions {
  /** The field manager. */
  readonly manager: string;
  /**
   * `absent`: fail with a Conflict when it exists. `{uid, resourceVersion}`: fail with a Conflict when it is not that
   * very object at that version. Unset: create or update.
   */
  readonly expect?: "absent" | { readonly uid: string; readonly resourceVersion: string };
  /** Take fields that other managers own. */
  readonly force?: boolean;
  /**
   * Who owns which fields from now on, written before and with `expect` as an object: what this manager is to take away
   * by leaving it out of the apply has to be its own. It changes nothing else, so that nobody sees a half of the write.
   * Where there are no managers it is not needed.
   */
  readonly managedFields?: Metadata["managedFields"];
}

export interface RemoveOptions {
  /** Fail with a Conflict when it is another object by now. */
  readonly uid?: string;
}

/** A write that lost: the object exists, changed meanwhile, or belongs to another manager. */
export class Conflict extends Error {
  readonly reason: "exists" | "changed" | "owned";
  /** With `owned`: who owns which fields. */
  readonly owners: readonly { readonly manager: string; readonly field: string }[];
  constructor(reason: Conflict["reason"], message: string, owners: Conflict["owners"] = []) {
    super(message);
    this.name = "Conflict";
    this.reason = reason;
    this.owners = owners;
  }
}

/** The holder of the resources refuses the object: schema, CEL or admission. The message is the holder's own. */
export class Rejected extends Error {
  override readonly name = "Rejected";
}

/** The kind is not served (its CRD is gone): what was read of it says nothing about what there is. Given to `lost`. */
export class UnknownKind extends Error {
  override readonly name = "UnknownKind";
}

/** A time in which no other process writes. */
export interface MutexHold {
  /** Another process may have written since this one's last turn. */
  readonly othersMayHaveWritten: boolean;
  /**
   * Whether nobody else can have begun a turn: a process that was stopped for long may have lost its own. Absent where a
   * turn cannot be lost while its process lives.
   */
  readonly isHeld?: () => boolean;
}

export interface ConditionsOptions {
  readonly manager: string;
  /**
   * The resource as the caller has read it, if the manager has written no status since: it is not read again. The
   * conditions are then all that the manager has to say: those of its own that are not among them may go.
   */
  readonly read?: Resource;
  /** Ends it while an API server keeps it waiting; what was sent may have happened. */
  readonly signal?: AbortSignal;
}

/** Reads and writes resources. Implementations: cluster and directory; one suite runs for both. */
export interface ResourceClient {
  get(ref: Ref): Promise<Resource | null>;
  list(kind: Kind, options?: Selectors): Promise<readonly Resource[]>;
  /** Lists and then follows the kind until the signal aborts. Never throws: trouble goes to `lost`. */
  watch(kind: Kind, observer: Observer, options: WatchOptions): void;
  /**
   * Opens all watches anew where they stand. For callers who know that the way to the holder was broken for a while: a
   * stream that died without a word is noticed only when something that it must bring is overdue, after a minute.
   */
  rewatch(): void;
  /** Server-side apply of the full set of fields that the manager owns. Never touches status. */
  apply(kind: Kind, resource: Resource, options: ApplyOptions): Promise<Resource>;
  /** Resolves when it is gone or was never there (false). */
  remove(ref: Ref, options?: RemoveOptions): Promise<boolean>;
  /** Writes conditions of ours into the status, keeping other writers' conditions; no write when nothing changes. */
  setConditions(ref: Ref, conditions: readonly Condition[], options: ConditionsOptions): Promise<void>;
  /** Tells people about a resource (`kubectl describe`); repeated ones are counted, not piled up. */
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
   * Runs while nobody else does under this name, in any process: those who ask are taken one after the other. In a
   * cluster by a Lease of this name. Rejects when somebody else keeps it for long.
   */
  withMutex<Result>(
    of: { readonly namespace: string; readonly name: string },
    run: (turn: MutexHold) => Promise<Result>,
  ): Promise<Result>;
  close(): Promise<void>;
}

/** Who leads, as a Lease says it. */
export interface LeaseRecord {
  /** Empty: nobody. */
  readonly holder: string;
  /** Milliseconds after which a Lease that was not renewed is anybody's. */
  readonly duration: number;
  /** Grows whenever the holder changes. */
  readonly transitions: number;
}

export interface VersionedLease extends LeaseRecord {
  /** Opaque; changes with every write. */
  readonly version: string;
}

/** One Lease. Every call rejects when its signal aborts. */
export interface LeaseStore {
  /** Null: there is none. */
  read(signal: AbortSignal): Promise<VersionedLease | null>;
  /** Rejects with a Conflict when the Lease is not what was seen before; null: when there is one. */
  write(
    record: LeaseRecord,
    options: { readonly before: VersionedLease | null; readonly signal: AbortSignal },
  ): Promise<VersionedLease>;
  close(): Promise<void>;
}

/** Small things of the operator's own, kept where its resources are. Bytes are what the operator has encrypted. */
export interface StateBackend {
  /** The key to all of it, 32 random bytes; made at the first call, whoever makes it. */
  key(): Promise<Buffer>;
  /** What the manifest says, and its version; null: there is none. */
  manifest(): Promise<{ readonly text: string; readonly version: string } | null>;
  /** Rejects with a Conflict when the manifest is not of that version; null: when there is one. */
  putManifest(text: string, before: string | null): Promise<string>;
  /** Names of all parts, used or not. */
  parts(): Promise<readonly string[]>;
  /** Null: there is no such part. */
  part(name: string): Promise<Buffer | null>;
  /** A part of this name has this content, if it is there already. At most 1 MiB; names are of a-z and 0-9. */
  putPart(name: string, content: Buffer): Promise<void>;
  removePart(name: string): Promise<void>;
  close(): Promise<void>;
}
