/**
 * The parts that GraphQL Yoga and Apollo Server share in the bench: our schema, resolvers and limits, and our store or
 * a plain one.
 */
import { buildSchema, type GraphQLError, type GraphQLObjectType, type GraphQLSchema } from "graphql";
import { makePostLoader } from "../../../user-api/src/directory/post-loader.ts";
import { makeResolvers } from "../../../user-api/src/directory/resolvers.ts";
import { schema as typeDefs } from "../../../user-api/src/directory/schema.ts";
import { makeDocumentCheck } from "../../../user-api/src/limits/documents.ts";
import { defaultLimits } from "../../../user-api/src/limits/limits.ts";
import type { Database } from "../../../user-api/src/store/database.ts";
import { openPostgres } from "../../../user-api/src/store/postgres.ts";
import { openUserStore } from "../../../user-api/src/store/sql-store.ts";
import type { UserStore } from "../../../user-api/src/store/store.ts";

interface Directory {
  readonly schema: GraphQLSchema;
  /** Makes the resolvers' context of one request. */
  readonly context: () => object;
  /** The violations of our limits by a request; none if the request may be executed. */
  readonly faults: (request: Request) => readonly GraphQLError[];
  readonly tokens: number;
}

export interface Request {
  readonly query: string;
  readonly operationName?: string | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | undefined;
}

/** @param args The database's URL, and `plain` for the plain store. */
export async function openDirectory([url = "", kind]: readonly string[]): Promise<Directory> {
  const onLost = (error: Error): void => console.error(error);
  const database = openPostgres({ url, onLost });
  const ours = await openUserStore(database);
  const store = kind === "plain" ? { ...ours, ...plainStore(database) } : ours;
  const schema = buildSchema(typeDefs);
  const resolvers = makeResolvers({ store, page: 1000, created: () => undefined });
  for (const [type, fields] of Object.entries(resolvers)) {
    const known = (schema.getType(type) as GraphQLObjectType).getFields();
    for (const [name, resolve] of Object.entries(fields)) Object.assign(known[name] ?? {}, { resolve });
  }
  const check = makeDocumentCheck({ schema, limits: defaultLimits, introspection: true });
  return {
    schema,
    context: () => ({ consumer: null, ...makePostLoader(store) }),
    faults(request) {
      const checked = check(request);
      return "errors" in checked ? checked.errors : [];
    },
    tokens: defaultLimits.tokens,
  };
}

/**
 * The usual store for Apollo Server or Yoga. One SQL statement reads a user. Another statement reads the posts of all
 * users in a response; a loader for each operation collects the ids of these users. Statements of concurrent requests
 * are not combined.
 */
function plainStore(database: Database): Pick<UserStore, "user" | "postsOf"> {
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
