/** Where the admin listener reads and writes entities. Implementations: resources (cluster, directory); one suite. */
import type { Collection, Entities, Violation, Written } from "@sluice/model";

export interface ListOptions {
  /** At most so many entities. */
  readonly size: number;
  /** Only those after this id. Entities come in the order of their ids. */
  readonly after?: string;
  /** Only those whose member refers to this id. */
  readonly where?: { readonly member: string; readonly id: string };
}

export interface Page<Name extends Collection> {
  readonly entities: readonly Entities[Name][];
  /** There are more: ask again with `after` the last one's id. */
  readonly more: boolean;
}

/** By id, or by a member that no two entities share (`unique` in the table of entities). */
export type Lookup = { readonly id: string } | { readonly member: string; readonly value: string };

/** Why a write was not done. Nothing has been written then. */
export type WriteFault =
  | { readonly kind: "primary-key"; readonly id: string }
  /** The members that another entity has already: `{ name: "users" }`. */
  | { readonly kind: "unique"; readonly members: Readonly<Record<string, unknown>> }
  | { readonly kind: "foreign-key"; readonly member: string; readonly to: Collection; readonly id: string }
  /** Entities of `by` refer to what should be removed. */
  | { readonly kind: "referenced"; readonly by: Collection; readonly collection: Collection }
  /** The store cannot hold such an entity. */
  | { readonly kind: "invalid"; readonly violations: readonly Violation[] }
  /** Somebody else manages what should be changed. */
  | { readonly kind: "owned"; readonly what: string; readonly owners: readonly Owner[] }
  /** Somebody else changed it in the meantime. */
  | { readonly kind: "changed"; readonly message: string };

export interface Owner {
  readonly manager: string;
  readonly field: string;
}

/** What was written and what its reader must wait for until every node has it; or the fault. */
export type Outcome<Value> =
  | { readonly value: Value; readonly awaits: readonly Written[]; readonly fault?: undefined }
  | { readonly fault: WriteFault; readonly value?: undefined; readonly awaits?: undefined };

export interface RemoveOptions {
  /** Also what other managers own. */
  readonly force?: boolean;
}

/**
 * Every method sees all writes that this store had resolved before it was called; those of others come soon after.
 *
 * @throws Unavailable while entities cannot be read or written.
 */
export interface Store {
  list<Name extends Collection>(collection: Name, options: ListOptions): Promise<Page<Name>>;
  find<Name extends Collection>(collection: Name, by: Lookup): Promise<Entities[Name] | null>;
  /** Takes a filled entity, as `checkEntity` gives it. */
  create<Name extends Collection>(collection: Name, entity: Entities[Name]): Promise<Outcome<Entities[Name]>>;
  /**
   * Removes an entity, and with it its plugins and its credentials; a service with routes is refused. The value is
   * false when there was none. Also removes what is too faulty to be found or listed, such as a route whose service
   * somebody took away behind the store's back: its name would stay taken for ever.
   */
  remove(collection: Collection, by: Lookup, options?: RemoveOptions): Promise<Outcome<boolean>>;
  /** What cannot be read for now; empty when all is well. */
  unready(): readonly string[];
}

/** Entities cannot be read or written for now. The message is for people; what lies behind it is the cause. */
export class Unavailable extends Error {
  override readonly name = "Unavailable";
}
