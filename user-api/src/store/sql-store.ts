/** The store on a database: the same SQL for a Postgres server and for PGlite. */

import { type BatchOptions, batchQueries } from "./batch-queries.ts";
import type { Database, SqlRow } from "./database.ts";
import { emailKey, formerEmailKey } from "./email-key.ts";
import { migrateTables, requireMigrated } from "./migrations.ts";
import { MAX_POSTS, type Post, type User, type UserStore, type UserWithPosts, UUID } from "./store.ts";

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

const toUser = (row: SqlRow): User => ({ id: String(row.id), name: String(row.name), email: String(row.email) });

/** The posts in one value, so that a user's posts need no rows of their own, each with the user's id. */
const POSTS = "json_agg(json_build_array(posts.id, title) order by posts.id)";
type PostPairs = readonly (readonly [id: string, title: string | null])[] | null;
const toPosts = (pairs: unknown): readonly Post[] => ((pairs as PostPairs) ?? []).map(([id, title]) => ({ id, title }));
const toPost = ({ id, title }: SqlRow): Post => ({ id: String(id), title: title === null ? null : String(title) });

function toUserWithPosts(row: SqlRow): UserWithPosts {
  const { id, name, email } = toUser(row);
  return { id, name, email, posts: toPosts(row.posts) };
}

/** The columns of a user with posts. */
const USER_WITH_POSTS = `id, name, email, (select ${POSTS} from posts where user_id = users.id) as posts`;

/** Whether a statement failed because another row has the same unique value (SQLSTATE 23505). */
const isUniqueViolation = (error: unknown): boolean =>
  error instanceof Error && "code" in error && error.code === "23505";

/** Two queries at a time, so that one slow query does not block all others. */
const BATCHED: BatchOptions = { maxQueries: 2, maxKeys: 2_000 };

export interface UserStoreOptions {
  /** Default true. False: a database with missing migration steps is refused. */
  readonly migrate?: boolean;
}

/**
 * Migrates the database (or, if `migrate` is false, checks that it is migrated) and opens the store on it. Owns the
 * database: closing the store closes it, and so does a failure here.
 */
export async function openUserStore(database: Database, { migrate = true }: UserStoreOptions = {}): Promise<UserStore> {
  try {
    if (migrate) await migrateTables(database);
    else await requireMigrated(database);
  } catch (error) {
    await database.close();
    throw error;
  }

  const usersById = batchQueries<User>(async (ids) => {
    const rows = await database.query("select id, name, email from users where id = any($1::uuid[])", [ids]);
    return new Map(rows.map((row) => [String(row.id), toUser(row)]));
  }, BATCHED);

  const usersWithPostsById = batchQueries<UserWithPosts>(async (ids) => {
    const rows = await database.query(`select ${USER_WITH_POSTS} from users where id = any($1::uuid[])`, [ids]);
    return new Map(rows.map((row) => [String(row.id), toUserWithPosts(row)]));
  }, BATCHED);

  const postsByUser = batchQueries<readonly Post[]>(async (userIds) => {
    const rows = await database.query(
      `select user_id, ${POSTS} as posts from posts where user_id = any($1::uuid[]) group by user_id`,
      [userIds],
    );
    return new Map(rows.map(({ user_id, posts }) => [String(user_id), toPosts(posts)]));
  }, BATCHED);

  return {
    async users({ after, first } = {}) {
      // `limit null` means no limit.
      const rows = await database.query("select id, name, email from users where id > $1 order by id limit $2", [
        after ?? FIRST_ID,
        first ?? null,
      ]);
      return rows.map(toUser);
    },

    user(id, { posts = false } = {}) {
      // Postgres rejects comparing a uuid with other text; here such an id is just unknown.
      if (!UUID.test(id)) return Promise.resolve(null);
      const key = id.toLowerCase();
      return (posts ? usersWithPostsById : usersById)([key]).then((found) => found.get(key) ?? null);
    },

    async add({ id, name, email }) {
      const key = emailKey(email);
      const former = formerEmailKey(email);
      const added = await database.query(
        `insert into users (id, name, email, email_key) select $1::uuid, $2, $3, $4
         where not exists (select from users where email_key = $5)
         on conflict (email_key) do nothing returning id`,
        // If both keys are equal, the unique index is enough, and `$5` is null, which equals no key.
        [id, name, email, key, former === key ? null : former],
      );
      return added.length === 1;
    },

    async update(id, { name, email }) {
      if (!UUID.test(id)) return "unknown";
      const key = email === undefined ? null : emailKey(email);
      const former = email === undefined ? null : formerEmailKey(email);
      try {
        const [updated] = await database.query(
          `update users set name = coalesce($2, name), email = coalesce($3, email), email_key = coalesce($4, email_key)
           where id = $1 and not exists (select from users other where other.id <> $1 and other.email_key in ($4, $5))
           returning id, name, email`,
          [id, name ?? null, email ?? null, key, former],
        );
        if (updated !== undefined) return toUser(updated);
      } catch (error) {
        // Another user got the address after the check.
        if (isUniqueViolation(error)) return "taken";
        throw error;
      }
      const [found] = await database.query("select id from users where id = $1", [id]);
      return found === undefined ? "unknown" : "taken";
    },

    async remove(id) {
      if (!UUID.test(id)) return null;
      // The posts are deleted after the statement has computed what it returns.
      const [removed] = await database.query(`delete from users where id = $1 returning ${USER_WITH_POSTS}`, [id]);
      return removed === undefined ? null : toUserWithPosts(removed);
    },

    async addPost(userId, { id, title }) {
      if (!UUID.test(userId)) return "unknown";
      // The lock prevents that the user is deleted before the post is added.
      const [found] = await database.query(
        `with author as (
           select id, (select count(*) from posts where user_id = users.id) < ${MAX_POSTS} as has_room
           from users where id = $1 for key share
         ), added as (insert into posts (id, user_id, title) select $2::uuid, id, $3 from author where has_room)
         select has_room from author`,
        [userId, id, title],
      );
      if (found === undefined) return "unknown";
      return found.has_room === true ? "added" : "full";
    },

    async updatePost({ id, title }) {
      if (!UUID.test(id)) return null;
      const [updated] = await database.query("update posts set title = $2 where id = $1 returning id, title", [
        id,
        title,
      ]);
      return updated === undefined ? null : toPost(updated);
    },

    async removePost(id) {
      if (!UUID.test(id)) return null;
      const [removed] = await database.query("delete from posts where id = $1 returning id, title", [id]);
      return removed === undefined ? null : toPost(removed);
    },

    postsOf: (userIds) => postsByUser(userIds).then((found) => userIds.map((id) => found.get(id) ?? [])),

    async ping() {
      await database.query("select 1");
    },

    close: () => database.close(),
  };
}
