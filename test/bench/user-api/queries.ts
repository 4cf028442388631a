/**
 * Compares the user API with GraphQL Yoga and Apollo Server in two queries: a list of users with their posts, and one
 * user by id.
 */
import assert from "node:assert/strict";
import { sampleOf } from "../proxy/field.ts";
import type { Started } from "../proxy/stage.ts";
import { runWrk } from "../proxy/wrk.ts";
import { type BenchReport, type Ratio, reportOf } from "../report.ts";
import { type Contestant, inTurn } from "../rounds.ts";
import { POSTS, startPeer, startUserApi, USERS } from "./directory.ts";
import type { UserApiStage } from "./index.ts";

const CONNECTIONS = 16;
const OURS = "user API";
const YOGA = "GraphQL Yoga";
const APOLLO = "Apollo Server";
const [YOGA_PLAIN, APOLLO_PLAIN] = ["GraphQL Yoga, plain store", "Apollo Server, plain store"];

const ratios: readonly Ratio[] = [
  { name: "CPU, ours / Yoga's", of: OURS, to: YOGA, bound: 0.65 },
  { name: "CPU, ours / Apollo's", of: OURS, to: APOLLO, bound: 0.4 },
  { name: "CPU, ours / Yoga's with the plain store", of: OURS, to: YOGA_PLAIN, bound: 0.65 },
  { name: "CPU, ours / Apollo's with the plain store", of: OURS, to: APOLLO_PLAIN, bound: 0.4 },
  { name: "p99, ours / Yoga's", of: OURS, to: YOGA, figure: "p99", bound: 1 },
  { name: "p99, ours / Apollo's", of: OURS, to: APOLLO, figure: "p99", bound: 1 },
];

async function compare(
  scene: UserApiStage,
  { title, request }: { title: string; request: object },
): Promise<BenchReport> {
  const { databaseUrl, folder, effort } = scene;
  const json = JSON.stringify(request);
  const started: Record<string, Started> = {};
  try {
    started[OURS] = await startUserApi(databaseUrl);
    started[YOGA] = await startPeer("graphql-yoga", databaseUrl);
    started[APOLLO] = await startPeer("apollo-server", databaseUrl);
    started[YOGA_PLAIN] = await startPeer("graphql-yoga", databaseUrl, "plain");
    started[APOLLO_PLAIN] = await startPeer("apollo-server", databaseUrl, "plain");
    const contestants: Contestant[] = [];
    const answers: unknown[] = [];
    for (const [name, { process: server, port }] of Object.entries(started)) {
      const url = `http://127.0.0.1:${port}${name.startsWith(APOLLO) ? "/" : "/graphql"}`;
      const headers = { "content-type": "application/json" };
      answers.push(await (await fetch(url, { method: "POST", headers, body: json })).json());
      const load = { url, folder, seconds: effort.seconds, connections: CONNECTIONS, body: { json } };
      contestants.push({ name, sample: () => sampleOf(server, () => runWrk(load)) });
    }
    for (const answer of answers) assert.deepEqual(answer, answers[0]);
    assert.ok(!("errors" in (answers[0] as object)), JSON.stringify(answers[0]));
    const samples = await inTurn(contestants, effort.rounds);
    return reportOf({ title, method, samples, ratios });
  } finally {
    for (const { process: server } of Object.values(started)) await server.stop();
  }
}

const method =
  `Postgres with ${USERS} users of ${POSTS} posts each; all servers use our schema, resolvers, limits and pg with ten ` +
  "connections. The other servers use our store, which combines concurrent reads into one database statement, or a " +
  "plain store: one statement for the user, and one for the posts through a loader for each operation. All servers " +
  `give equal results for POST requests on wrk's ${CONNECTIONS} connections. They run with NODE_ENV=production and ` +
  "without a request log: ours as `sluice-user-api`, Yoga on node:http, Apollo with its standalone server. CPU is that of the " +
  "server process alone, without Postgres. In every round each server is measured once, and a ratio is the median of " +
  "the rounds' ratios.";

export const measureUsers = (scene: UserApiStage): Promise<BenchReport> =>
  compare(scene, {
    title: `${USERS} users with their posts`,
    request: { query: "{ users { id name email posts { title } } }" },
  });

export const measureUser = (scene: UserApiStage): Promise<BenchReport> =>
  compare(scene, {
    title: "One user by id",
    request: {
      query: "query One($id: ID!) { user(id: $id) { id name email posts { title } } }",
      operationName: "One",
      variables: { id: scene.userId },
    },
  });
