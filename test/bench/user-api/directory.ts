/** Fills a database with users and posts, and starts servers on it: the user API, GraphQL Yoga and Apollo Server. */
import { randomUUIDv7 } from "node:crypto";
import { join } from "node:path";
import { builtProgram } from "../../../tools/build/programs.ts";
import { freePort, startProcess } from "../../../tools/process/index.ts";
import { openPostgres } from "../../../user-api/src/store/postgres.ts";
import { openUserStore } from "../../../user-api/src/store/sql-store.ts";
import type { Started } from "../proxy/stage.ts";

export const USERS = 100;
export const POSTS = 3;

/** Fills an empty database. Resolves to the id of one of the users. */
export async function fillDirectory(url: string): Promise<string> {
  const database = openPostgres({ url, onLost: (error) => console.error(error) });
  const store = await openUserStore(database);
  let id = "";
  for (let user = 0; user < USERS; user++) {
    id = randomUUIDv7();
    await store.add({ id, name: `User ${user}`, email: `user${user}@example.org` });
    for (let post = 0; post < POSTS; post++) {
      const values = [randomUUIDv7(), id, `What user ${user} has to say, part ${post}`];
      await database.query("insert into posts (id, user_id, title) values ($1, $2, $3)", values);
    }
  }
  await database.query("analyze");
  await store.close();
  return id;
}

const root = join(import.meta.dirname, "../../..");
/** Without this NODE_ENV, graphql-js performs additional checks. */
const production = { ...process.env, NODE_ENV: "production" };

/**
 * Starts the user API with all limits except the rate limit, which one client would exceed; the peers have no rate
 * limit either.
 */
export async function startUserApi(url: string): Promise<Started> {
  const port = await freePort();
  const started = await startProcess(await builtProgram("user-api"), [], {
    name: "user API",
    ready: `http://127.0.0.1:${port}/readyz`,
    env: {
      ...production,
      SLUICE_USER_API_MODE: "development",
      SLUICE_USER_API_LOG_LEVEL: "warn",
      SLUICE_USER_API_LISTEN: `127.0.0.1:${port}`,
      SLUICE_USER_API_DATABASE_URL: url,
    },
  });
  return { process: started, port };
}

/**
 * Starts one of the servers in test/bench/peers, which prints its port.
 *
 * @param store The user API's store, or the plain one (user-directory.ts).
 */
export async function startPeer(
  name: "graphql-yoga" | "apollo-server",
  url: string,
  store: "ours" | "plain" = "ours",
): Promise<Started> {
  const started = await startProcess(process.execPath, [join(root, `test/bench/peers/${name}.ts`), url, store], {
    name,
    ready: /listening on (\d+)/,
    env: production,
  });
  return { process: started, port: Number(/listening on (\d+)/.exec(started.output())?.[1]) };
}
