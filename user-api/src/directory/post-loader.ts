/** The posts of all users of an answer, by one query. */
import type { Post, UserStore } from "../store/store.ts";

interface Batch {
  readonly userIds: string[];
  readonly posts: Promise<readonly (readonly Post[])[]>;
}

/**
 * Collects what is asked for until nothing else runs, and asks the store once. Each user's posts are read once; make a
 * new loader for each operation. mercurius' own loaders make a text of every user to know it again, and work for
 * requests only, not for events.
 */
export function makePostLoader({ postsOf }: Pick<UserStore, "postsOf">): (userId: string) => Promise<readonly Post[]> {
  const known = new Map<string, Promise<readonly Post[]>>();
  let collecting: Batch | undefined;

  function begin(): Batch {
    const userIds: string[] = [];
    const posts = new Promise<void>((resolve) => queueMicrotask(() => process.nextTick(resolve))).then(() => {
      collecting = undefined;
      return postsOf(userIds);
    });
    return { userIds, posts };
  }

  return (userId) => {
    const before = known.get(userId);
    if (before !== undefined) return before;
    collecting ??= begin();
    const index = collecting.userIds.push(userId) - 1;
    const posts = collecting.posts.then((all) => all[index] ?? []);
    known.set(userId, posts);
    return posts;
  };
}
