/** The store on a database: the same SQL for a Postgres server and for PGlite. */

import { type BatchOptions, batchQueries } from "./batch-queries.ts";
import type { Database, SqlRow } from "./database.ts";
import { emailKey, formerEmailKey } from "./email-key.ts";
import { migrateTables, requireMigrated } from "./migrations.ts";
import { type Post, type User, type UserStore, type UserWithPosts, UUID } from "./store.ts";

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

const toUser = (row: SqlRow): User => ({ id: String(row.id), name: String(row.name), email: String(row.email) });

type Titles = readonly (string | null)[] | null;
const postsOf = (titles: unknown): readonly Post[] => ((titles as Titles) ?? []).map((title) => ({ title }));

function toUserWithPosts(row: SqlRow): UserWithPosts {
  const { id, name, email } = toUser(row);
  return { id, name, email, posts: postsOf(row.titles) };
}

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
    const rows = await database.query(
      `select id, name, email, (select json_agg(title order by posts.id) from posts where user_id = users.id) as titles
       from users where id = any($1::uuid[])`,
      [ids],
    );
    return new Map(rows.map((row) => [String(row.id), toUserWithPosts(row)]));
  }, BATCHED);

  const postsByUser = batchQueries<readonly Post[]>(async (userIds) => {
    // One row per user: three posts would otherwise be three rows, each with the user's id.
    const rows = await database.query(
      `select user_id, json_agg(title order by id) as titles from posts where user_id = any($1::uuid[]) group by user_id`,
      [userIds],
    );
    return new Map(rows.map(({ user_id, titles }) => [String(user_id), postsOf(titles)]));
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

    postsOf: (userIds) => postsByUser(userIds).then((found) => userIds.map((id) => found.get(id) ?? [])),

    async ping() {
      await database.query("select 1");
    },

    close: () => database.close(),
  };
}
