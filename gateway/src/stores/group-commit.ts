/** Group commit: writes of one author that arrive during a commit are committed together after it. */
import type { Write } from "./store.ts";

interface Waiting<Outcome> {
  readonly author: string;
  readonly writes: readonly Write[];
  readonly resolve: (outcome: Outcome | Promise<Outcome>) => void;
}

/** A list of writes is committed at once if no commit is under way. An error of `commit` rejects the whole group. */
export interface GroupCommitOptions<Outcome> {
  /** Commits each of the lists, which have one author, completely or not at all; resolves to their outcomes. */
  readonly commit: (
    group: readonly (readonly Write[])[],
    author: string,
  ) => Promise<readonly (Outcome | Promise<Outcome>)[]>;
  /** Maximum number of writes in a group of several lists. A longer list is a group of its own. */
  readonly most: number;
}

export function createGroupCommit<Outcome>({ commit, most }: GroupCommitOptions<Outcome>) {
  const waiting: Waiting<Outcome>[] = [];
  let working = false;

  async function work(): Promise<void> {
    working = true;
    while (waiting.length > 0) {
      const group = waiting.splice(0, groupSize(waiting, most));
      const [author = ""] = group.map((one) => one.author);
      const lists = group.map(({ writes }) => writes);
      const outcomes = await commit(lists, author).catch((error: unknown) => group.map(() => Promise.reject(error)));
      for (const [index, { resolve }] of group.entries()) resolve(outcomes[index] as Outcome);
    }
    working = false;
  }

  return (writes: readonly Write[], author: string): Promise<Outcome> =>
    new Promise((resolve) => {
      waiting.push({ writes, author, resolve });
      if (!working) void work();
    });
}

/** The number of waiting lists in the next group; at least one. */
function groupSize(
  waiting: readonly { readonly writes: readonly Write[]; readonly author: string }[],
  most: number,
): number {
  let writes = 0;
  const next = waiting.findIndex((one) => {
    writes += one.writes.length;
    return writes > most || one.author !== waiting[0]?.author;
  });
  return next < 0 ? waiting.length : Math.max(next, 1);
}
