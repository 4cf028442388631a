/** Where the admin listener reads and writes entities. Implementations: resources (cluster, directory), database, file; one suite. */
import type { Collection, Entities, Entity, Violation, WaitAnswer } from "@sluice/model";

export interface ListOptions {
  /** At most so many entities. */
  readonly size: number;
  /** Only those after this id. Entities come in the order of their ids. */
  readonly after?: string;
  /** Only those whose member refers to this id. */
  readonly where?: ReferenceFilter;
  /** Only those with these tags. */
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

export interface Page<Name extends Collection> {
  readonly entities: readonly Entities[Name][];
  /** There are more: ask again with `after` the last one's id. */
  readonly more: boolean;
}

/**
 * By id, or by a member that no two entities share (`unique` in the table of entities); `within` one parent where
 * names are unique only there (targets).
 */
export type Lookup =
  | { readonly id: string }
  | { readonly member: string; readonly value: string; readonly within?: ReferenceFilter };

/** One thing to write. Entities are filled, as `checkEntity` gives them. */
export type Write =
  | { readonly op: "create"; readonly collection: Collection; readonly entity: Entity }
  /** The entity of this id takes this form. With `etag` only if it still is what was read (`etagOf`). */
  | { readonly op: "replace"; readonly collection: Collection; readonly entity: Entity; readonly etag?: string }
  /**
   * Removes an entity, and with it what refers to it and goes along (`onDelete` in the references); what forbids it
   * is a fault. No fault when there is none. Also removes what is too faulty to be found or listed, such as a route
   * whose service somebody took away behind the store's back: its name would stay taken for ever.
   */
  | { readonly op: "remove"; readonly collection: Collection; readonly by: Lookup; readonly etag?: string };

/** What a write did, or with `plan` would do. */
export interface Effect {
  readonly collection: Collection;
  /** Null: there was none. */
  readonly before: Entity | null;
  /** As every later reader sees it; null: there is none any more. */
  readonly after: Entity | null;
  /** What went along with a removal, or made room because its time was over. */
  readonly along: readonly { readonly collection: Collection; readonly entity: Entity }[];
}

export interface WriteOptions {
  /** Also what other managers own. */
  readonly force?: boolean;
  /** Check everything and tell the effects, but write nothing. */
  readonly plan?: boolean;
  /**
   * The writes make a whole document of what there is. A file takes one also where it takes no single writes, as Kong
   * does: in memory, until the file itself changes or the process ends.
   */
  readonly whole?: boolean;
}

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
  | { readonly kind: "owned"; readonly what: string; readonly owners: readonly FieldOwner[] }
  /** Somebody else changed or removed it in the meantime: it is not what the etag says, or not there. */
  | { readonly kind: "changed"; readonly message: string }
  /** The store takes no writes. */
  | { readonly kind: "read-only" };

export interface FieldOwner {
  readonly manager: string;
  readonly field: string;
}

/** One effect for each write, in their order; or the first fault and the write that it is of. */
export type WriteOutcome =
  | {
      readonly effects: readonly Effect[];
      /**
       * Resolves when every node has what was written, or `timeout` milliseconds later with those that lag; null when
       * nobody can tell. Absent when nothing was written.
       */
      readonly programmed?: (timeout: number) => Promise<WaitAnswer | null>;
      readonly fault?: undefined;
    }
  | {
      readonly fault: WriteFault;
      readonly index: number;
      readonly effects?: undefined;
      readonly programmed?: undefined;
    };

/**
 * Every method sees all writes that this store had resolved before it was called; those of others come soon after.
 *
 * @throws Unavailable while entities cannot be read or written.
 */
export interface Store {
  list<Name extends Collection>(collection: Name, options: ListOptions): Promise<Page<Name>>;
  find<Name extends Collection>(collection: Name, by: Lookup): Promise<Entities[Name] | null>;
  /** All of the writes, in their order, each seeing those before it; or none of them. */
  write(writes: readonly Write[], options?: WriteOptions): Promise<WriteOutcome>;
  /** Entities stand in a database (`database` of the model's CheckOptions). Default no. */
  readonly database?: boolean;
  /** What cannot be read for now, and why; empty when all is well. */
  unready(): readonly string[];
}

/** Entities cannot be read or written for now. The message is for people; what lies behind it is the cause. */
export class StoreUnavailable extends Error {
  override readonly name: string = "Unavailable";
}

/** The same of a database, which Kong's clients know by a code of its own. */
export class DatabaseUnavailable extends StoreUnavailable {
  override readonly name = "DatabaseUnavailable";
}
