/** Loads the posts of all users of one result with one query. */
import type { Post, UserStore } from "../store/store.ts";

interface Batch {
  readonly userIds: string[];
  readonly posts: Promise<readonly (readonly Post[])[]>;
}

export interface PostLoader {
  postsOf(userId: string): Promise<readonly Post[]>;
  /** Call this after a change of posts: later calls of `postsOf` read them again. */
  forgetPosts(): void;
}

/**
 * Collects user ids until all pending microtasks have run, then asks the store once. A loader reads each user's posts
 * only once, so make a new loader for each operation. The loaders of mercurius are not used: they serialize each user
 * as a cache key and work for requests only, not for subscription events.
 */
export function makePostLoader({ postsOf }: Pick<UserStore, "postsOf">): PostLoader {
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

  return {
    postsOf(userId) {
      const before = known.get(userId);
      if (before !== undefined) return before;
      collecting ??= begin();
      const index = collecting.userIds.push(userId) - 1;
      const posts = collecting.posts.then((all) => all[index] ?? []);
      known.set(userId, posts);
      return posts;
    },
    forgetPosts: () => known.clear(),
  };
}
