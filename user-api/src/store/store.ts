/** What the directory keeps, and what the resolvers ask of whatever keeps it. */

export interface User {
  /** UUIDv7, assigned by this service: sorting by id is sorting by creation, to the millisecond. */
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

export interface Post {
  readonly title: string | null;
}

/** A user with posts, oldest first, where they were asked for. */
export interface UserWithPosts extends User {
  readonly posts?: readonly Post[];
}

/** A part of the users, who are in the order of their ids. */
export interface Page {
  /** Only users behind this id: a UUID, of a user or not. */
  readonly after?: string;
  /** At most so many. */
  readonly first?: number;
}

/** Keeps users and posts. Implementations: Postgres and PGlite; one suite runs for both (suite.ts). */
export interface UserStore {
  /** All users, oldest first, or a page of them. */
  users(page?: Page): Promise<readonly User[]>;
  /**
   * Null for an id that nobody has, whatever it looks like.
   *
   * @param options.posts The user's posts too, by the same query. Default false.
   */
  user(id: string, options?: { readonly posts?: boolean }): Promise<UserWithPosts | null>;
  /** Visible to every read once it has resolved. False: another user has the address, in whatever case. */
  add(user: User): Promise<boolean>;
  /** The posts of many users by one query, in the order of `userIds`, each user's oldest first. */
  postsOf(userIds: readonly string[]): Promise<readonly (readonly Post[])[]>;
  /** Rejects when the store does not answer. For readiness. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
