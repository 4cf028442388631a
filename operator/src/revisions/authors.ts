/**
 * The author of a change: the field manager of the last write and, if this operator's webhook saw that write, the
 * Kubernetes user. With several operators, the API server calls the webhook of any one of them, so the user is not
 * always known.
 */
import type { RecordedChange } from "@sluice/crds";

/** A write that the webhook has allowed. */
export interface ReviewedWrite {
  /** Of the resource: a later resource of the same name has another one. */
  readonly uid: string;
  /** The resource's generation after the write; null: the write deletes the resource. */
  readonly generation: number | null;
  readonly user: string;
}

export interface RevisionAuthors {
  /** To be called for each write that the webhook allows. */
  readonly observe: (write: ReviewedWrite) => void;
  readonly authorOf: (change: RecordedChange) => string;
}

/** The author of changes for which neither manager nor user is known. */
export const UNKNOWN_AUTHOR = "unknown";

/** Maximum number of writes that are remembered; older ones are forgotten. */
const MAX_WRITES = 1000;
/** Maximum characters of a user name or manager that are shown. */
const MAX_NAME = 200;

export function createRevisionAuthors(): RevisionAuthors {
  const writes = new Map<string, Pick<ReviewedWrite, "generation" | "user">>();
  return {
    observe({ uid, generation, user }) {
      writes.delete(uid);
      writes.set(uid, { generation, user: user.slice(0, MAX_NAME) });
      const [oldest] = writes.size > MAX_WRITES ? writes.keys() : [];
      if (oldest !== undefined) writes.delete(oldest);
    },
    authorOf({ before, after }) {
      const { lastManager, generation } = after?.metadata ?? { generation: null };
      const write = writes.get((after ?? before)?.metadata.uid ?? "");
      const user = write?.generation === generation ? write?.user : undefined;
      const manager = lastManager?.slice(0, MAX_NAME);
      if (manager && user) return `${manager} (${user})`;
      return manager ?? user ?? UNKNOWN_AUTHOR;
    },
  };
}
