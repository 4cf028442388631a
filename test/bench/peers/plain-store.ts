/**
 * The usual store for Apollo Server or Yoga. One SQL statement reads a user. Another statement reads the posts of all
 * users in a response; a loader for each operation collects the ids of these users. Statements of concurrent requests
 * are not combined.
 */

import type { Database } from "../../../user-api/src/store/database.ts";
import type { UserStore } from "../../../user-api/src/store/store.ts";

export function plainStore(database: Database): Pick<UserStore, "user" | "postsOf"> {
  return {
    async user(id) {
      const [row] = await database.query("select id, name, email from users where id = $1", [id]);
      return row === undefined ? null : { id: String(row.id), name: String(row.name), email: String(row.email) };
    },
    async postsOf(userIds) {
      const rows = await database.query(
        "select user_id, id, title from posts where user_id = any($1::uuid[]) order by id",
        [userIds],
      );
      const found = new Map<unknown, { id: string; title: string | null }[]>(userIds.map((id) => [id, []]));
      for (const { user_id, id, title } of rows) {
        found.get(user_id)?.push({ id: String(id), title: title as string | null });
      }
      return [...found.values()];
    },
  };
}
