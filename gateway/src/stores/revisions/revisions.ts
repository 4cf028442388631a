/** The revisions of a store: what changed, when, and who changed it. */
import type { Collection, Entity } from "@sluice/model";
import type { RevisionSettings } from "../../settings/revisions.ts";

/**
 * A change of the store's entities, with its author. Changes that follow more than twenty others of the same author,
 * each within two seconds, are joined into one revision: a sync by decK would otherwise displace all earlier revisions.
 */
export interface StoreRevision {
  /** Ascending, with gaps. The number also stands for the state of the store's entities after the revision. */
  readonly number: number;
  /** The number of the last change that was joined to this one; equal to `number` if there is none. */
  readonly last: number;
  /** Unix time in milliseconds of its first change. */
  readonly time: number;
  readonly author: string;
  /** Null: the changes are not kept. */
  readonly counts: RevisionCounts | null;
}

/** The numbers of entities. An entity that changes several times in joined changes counts several times. */
export interface RevisionCounts {
  readonly created: number;
  readonly changed: number;
  readonly deleted: number;
}

/** One change of an entity. */
export interface EntityChange {
  readonly collection: Collection;
  readonly id: string;
  /** Null: there was no entity. */
  readonly before: Entity | null;
  /** Null: there is no entity any more. */
  readonly after: Entity | null;
  /** Whether the store now has an invalid entity with this id. Default: false. */
  readonly isFaulty?: boolean;
  /** Why `before` cannot be created again, as a sentence. Default: nothing prevents that. */
  readonly obstacle?: string | null;
}

export interface RevisionPage {
  /** Newest first. */
  readonly revisions: readonly StoreRevision[];
  readonly more: boolean;
}

/** The changes in the order in which they were made, or the reason why they are unknown, as a sentence. */
export type RevisionChanges =
  | { readonly changes: readonly EntityChange[]; readonly missing?: undefined }
  | { readonly missing: string; readonly changes?: undefined };

export interface Revisions {
  /** @param options.before Only revisions with a smaller number. */
  list(options: { readonly size: number; readonly before?: number }): Promise<RevisionPage>;
  /** Null: there is none with this number, or it is no longer kept. */
  find(number: number): Promise<StoreRevision | null>;
  /** The changes of the revisions with numbers above `after` and up to `to`. */
  changes(range: { readonly after: number; readonly to: number }): Promise<RevisionChanges>;
}

export interface RevisionLimits {
  /** Maximum number of revisions. */
  readonly number: number;
  /** Milliseconds after which a revision is deleted. */
  readonly age: number;
}

export const defaultRevisionLimits: RevisionLimits = { number: 100, age: 90 * 24 * 60 * 60 * 1000 };

export const revisionLimits = ({ revisions, revisionsAge }: Partial<RevisionSettings>): RevisionLimits => ({
  number: revisions ?? defaultRevisionLimits.number,
  age: revisionsAge ?? defaultRevisionLimits.age,
});

/** The changes of a write with more bytes are not kept. */
export const MAX_REVISION_BYTES = 16 * 1024 * 1024;

/** The maximum number of changes that are read at once, to compute a difference of revisions. */
export const MAX_READ_CHANGES = 100_000;

/**
 * Sentences that all implementations use.
 *
 * @param most The maximum size of the changes of a revision.
 */
export const notKept = (
  { number, author }: Pick<StoreRevision, "number" | "author">,
  most = `${MAX_REVISION_BYTES / 1024 / 1024} MiB`,
): string => `the changes of revision ${number} (${author}) are not kept: they are unknown, or have more than ${most}`;

export const tooManyChanges = (after: number, to: number): string =>
  `there are more than ${MAX_READ_CHANGES} changes between the revisions ${after} and ${to}`;
