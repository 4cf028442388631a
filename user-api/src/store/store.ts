/** The interface of the user store, as the resolvers use it. */

export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export interface User {
  /** UUIDv7, assigned by this service: ids are in the order of creation, as far as the clocks of replicas agree. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

export interface Post {
  /** UUIDv7, assigned by this service: posts are in the order of their ids. */
  readonly id: string;
  readonly title: string | null;
}

/** The maximum number of posts of one user. Posts that are added at the same moment may exceed it by a few. */
export const MAX_POSTS = 1_000;

/** New values of a user. An absent one stays as it is. */
export type UserChange = Partial<Omit<User, "id">>;

/** A user, with the posts (oldest first) if they were requested. */
export interface UserWithPosts extends User {
  readonly posts?: readonly Post[];
}

/** A range of the users in the order of their ids. */
export interface PageBounds {
  /** Only users after this id: a UUID, not necessarily of a user. */
  readonly after?: string;
  readonly first?: number;
}

/** Stores users and posts. Implementations: Postgres and PGlite; test/conformance/user-store is the suite of both. */
export interface UserStore {
  /** All users, oldest first, or a page of them. */
  users(page?: PageBounds): Promise<readonly User[]>;
  /**
   * Resolves to null for an unknown id, including any text that is not a UUID.
   *
   * @param options.posts Whether to read the user's posts with the same query. Default false.
   */
  user(id: string, options?: { readonly posts?: boolean }): Promise<UserWithPosts | null>;
  /**
   * Adds a user, who is visible to every read once the call has resolved. False: another user has the address, compared
   * by email-key.ts.
   */
  add(user: User): Promise<boolean>;
  /** Resolves to the changed user, `unknown` if there is no such user, or `taken` if another user has the address. */
  update(id: string, change: UserChange): Promise<User | "unknown" | "taken">;
  /** Deletes a user with all posts. Resolves to both as they were; null: there is no such user. */
  remove(id: string): Promise<UserWithPosts | null>;
  /** Adds a post. `unknown`: there is no such user. `full`: the user has MAX_POSTS posts. */
  addPost(userId: string, post: Post): Promise<"added" | "unknown" | "full">;
  /** Resolves to the changed post; null: there is no such post. */
  updatePost(post: Post): Promise<Post | null>;
  /** Resolves to the post as it was; null: there is no such post. */
  removePost(id: string): Promise<Post | null>;
  /** The posts of many users: one list for each user, in the order of `userIds`, with the oldest post first. */
  postsOf(userIds: readonly string[]): Promise<readonly (readonly Post[])[]>;
  /** Rejects when the store does not respond. For readiness. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
