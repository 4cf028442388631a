/**
 * The admin listener's interface to entities. Implementations: resources (cluster, directory), database, file; all pass
 * the same test suite.
 */
import type {
  AcmeStatus,
  Collection,
  Entities,
  Entity,
  PluginEndpointCall,
  PluginEndpointResults,
  Violation,
  WaitResponse,
} from "@sluice/model";
import type { Revisions } from "./revisions/revisions.ts";

export interface ListOptions {
  /** Maximum number of entities. */
  readonly size: number;
  /** Only entities after this id. Entities are ordered by id. */
  readonly after?: string;
  /** Only entities whose member refers to this id. */
  readonly where?: ReferenceFilter;
  readonly tags?: TagFilter;
}

/** A member that refers to an id: `{ member: "service", id }`. */
export interface ReferenceFilter {
  readonly member: string;
  readonly id: string;
}

export interface TagFilter {
  readonly tags: readonly string[];
  /** `every`: all of the tags; `some`: any of them. */
  readonly match: "every" | "some";
}

export interface EntityPage<Name extends Collection> {
  readonly entities: readonly Entities[Name][];
  /** Whether there are more entities: continue with `after` set to the last id. */
  readonly more: boolean;
}

/**
 * By id, or by a unique member (`unique` in the table of entities). `within` is the parent if the member is unique only
 * among the entities of one parent, such as the `target` of a target.
 */
export type Lookup =
  | { readonly id: string }
  | { readonly member: string; readonly value: string; readonly within?: ReferenceFilter };

/** One write. Entities include defaults, as `checkEntity` returns them. */
export type Write =
  | { readonly op: "create"; readonly collection: Collection; readonly entity: Entity }
  /** Replaces the entity with this id. With `etag`, only if the entity is unchanged since it was read (`etagOf`). */
  | { readonly op: "replace"; readonly collection: Collection; readonly entity: Entity; readonly etag?: string }
  /**
   * Removes an entity together with its dependents (`onDelete` in the references). A dependent that forbids the removal
   * causes a fault; a missing entity does not. Also removes invalid entities that are neither found nor listed, such
   * as a route whose service was removed outside the store: otherwise its name would stay in use forever.
   */
  | { readonly op: "remove"; readonly collection: Collection; readonly by: Lookup; readonly etag?: string };

/** The effect of a write, or with `plan` the effect that it would have. */
export interface Effect {
  readonly collection: Collection;
  /** Null: the entity did not exist. */
  readonly before: Entity | null;
  /** The entity as later readers see it; null: it no longer exists. */
  readonly after: Entity | null;
  /** Entities removed too: dependents of a removed entity, or expired keys with the id or value of a new key. */
  readonly along: readonly { readonly collection: Collection; readonly entity: Entity }[];
}

export interface StoreWriteOptions {
  /** The author of the writes, as revisions show it. Default: unknown. */
  readonly author?: string;
  /** Also changes fields that other field managers own. */
  readonly force?: boolean;
  /** Checks everything and returns the effects, but writes nothing. */
  readonly plan?: boolean;
  /**
   * The writes together replace the whole document. A file store accepts such writes even if it is read-only, as Kong
   * does: they apply in memory, until the file changes or the process ends.
   */
  readonly whole?: boolean;
}

/** Why a write was rejected; nothing has been written. */
export type WriteFault =
  | { readonly kind: "primary-key"; readonly id: string }
  /** Another entity has these values: `{ name: "users" }`. */
  | { readonly kind: "unique"; readonly members: Readonly<Record<string, unknown>> }
  | { readonly kind: "foreign-key"; readonly member: string; readonly to: Collection; readonly id: string }
  /** Entities of the collection `by` refer to an entity of `collection` that would be removed. */
  | { readonly kind: "referenced"; readonly by: Collection; readonly collection: Collection }
  /** The store cannot hold the entity. */
  | { readonly kind: "invalid"; readonly violations: readonly Violation[] }
  /** Other field managers own fields that would change. */
  | { readonly kind: "owned"; readonly what: string; readonly owners: readonly FieldOwner[] }
  /** Changed or removed by another writer in the meantime: the etag does not match, or the entity is gone. */
  | { readonly kind: "changed"; readonly message: string }
  | { readonly kind: "read-only" };

export interface FieldOwner {
  readonly manager: string;
  readonly field: string;
}

/** One effect per write, in order; or the first fault and the index of its write. */
export type WriteOutcome =
  | {
      readonly effects: readonly Effect[];
      /**
       * Resolves when every node serves the write, or after `timeout` milliseconds with the nodes that lag; null when
       * the nodes' state cannot be determined. Absent when nothing was written.
       */
      readonly programmed?: (timeout: number) => Promise<WaitResponse | null>;
      readonly fault?: undefined;
    }
  | {
      readonly fault: WriteFault;
      readonly index: number;
      readonly effects?: undefined;
      readonly programmed?: undefined;
    };

/**
 * Every method sees all writes that this store completed before the call. Writes of other processes become visible
 * after a short delay.
 *
 * @throws StoreUnavailable while entities cannot be read or written.
 */
export interface Store {
  list<Name extends Collection>(collection: Name, options: ListOptions): Promise<EntityPage<Name>>;
  find<Name extends Collection>(collection: Name, by: Lookup): Promise<Entities[Name] | null>;
  /** Performs all writes in order, each seeing the earlier ones; or performs none of them. */
  write(writes: readonly Write[], options?: StoreWriteOptions): Promise<WriteOutcome>;
  /** Absent: the store keeps no revisions. */
  readonly revisions?: Revisions;
  /** Whether entities are in a database (`database` of the model's CheckOptions). Default: false. */
  readonly database?: boolean;
  /** Paths of members of an entity that are set, but that the store does not show. Absent: there are none. */
  hiddenPaths?(collection: Collection, id: string): Promise<readonly Violation["path"][]>;
  /** The parts that cannot be read at present, with the reasons; empty without a problem. */
  unready(): readonly string[];
  /** Resources and files that are not served as written. Absent: the store holds no invalid entities. */
  problems?(): Promise<readonly StoreProblem[]>;
  /** A custom resource of this installation, valid or not; null: there is none. Absent: the store has no resources. */
  resource?(label: StoredResource): Promise<ResourceText | null>;
  /** What is known about the orders of certificates with `acme`, by their ids. Absent: the store does not know. */
  certificateOrders?(): Promise<ReadonlyMap<string, AcmeStatus>>;
  /** Where an entity is written; null: it no longer exists. Absent: all entities are rows of a database. */
  origin?(collection: Collection, id: string): Promise<EntityOrigin | null>;
}

export interface StoreProblem {
  /** A custom resource; null: the problem is in a file. */
  readonly resource: StoredResource | null;
  /** An entity of the resource; null: the resource has no valid entity, or the problem is in a file. */
  readonly entity: { readonly collection: Collection; readonly id: string } | null;
  /** `sluice.yml:3:5`, or the line at which the resource begins; null: unknown, or in a cluster. */
  readonly place: string | null;
  /** The false condition of the resource, such as `ResolvedRefs`, and its reason; null for a file. */
  readonly condition: string | null;
  readonly reason: string | null;
  /** Names `suggested` too. */
  readonly message: string;
  /** The resources whose names are the closest to names in the message of which there is no resource. */
  readonly suggested: readonly StoredResource[];
}

export interface StoredResource {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface ResourceText {
  /** As in StoreProblem. */
  readonly place: string | null;
  /** As stored, with the values of secrets that are not in core Secrets. */
  readonly spec: unknown;
  readonly conditions: readonly StoredCondition[];
}

export type EntityOrigin =
  | { readonly in: "database" }
  /** `place`: `sluice.yml:3:5`, or only the path of a large file. */
  | { readonly in: "file"; readonly place: string }
  | {
      readonly in: "resource";
      readonly resource: StoredResource;
      /** As in StoreProblem. */
      readonly place: string | null;
      readonly conditions: readonly StoredCondition[];
    };

export interface StoredCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Entities cannot be read or written at present. The message is for users; `cause` is the original error. */
export class StoreUnavailable extends Error {
  override readonly name: string = "Unavailable";
}

/** The database cannot be read or written at present: Kong has a separate error code for this. */
export class DatabaseUnavailable extends StoreUnavailable {
  override readonly name = "DatabaseUnavailable";
}

/** The admin listener's information about the nodes. */
export interface Fleet {
  /** The nodes' state for GET /status, under `sluice`; null: not available. */
  status(): Promise<Readonly<Record<string, unknown>> | null>;
  nodes(): Promise<readonly FleetNode[]>;
  /**
   * Sends a request to an endpoint of a plugin to every node, and returns the responses.
   *
   * @throws NodesUnreachable when this process cannot ask any node.
   */
  askPlugin(call: PluginEndpointCall): Promise<PluginEndpointResults>;
}

/** The nodes cannot be asked. The message is for users. */
export class NodesUnreachable extends Error {
  override readonly name = "NodesUnreachable";
}

export interface FleetNode {
  /** Id of the node. */
  readonly node?: string;
  readonly address: string;
  /** Base URL of the node's status listener, for metrics and health; null: it cannot be reached from here. */
  readonly status: string | null;
}

export interface OpenedStore {
  readonly store: Store;
  readonly fleet: Fleet;
  /** Hash of the served configuration, if it is one document (file); null before the first document. */
  readonly hash?: () => string | null;
  /** Closes the store. Pending waits for nodes resolve to null. */
  close(): Promise<void>;
}
