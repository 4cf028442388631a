/** What the headers of responses say is left when rate limits are spent on the costs of GraphQL operations. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { startFileNode } from "../../gateway/src/testing-file-node.ts";
import { type Process, temporaryFolder } from "../../tools/process/index.ts";
import { type Redis, startRedis } from "../../tools/programs/servers/redis.ts";
import { type NamedUpstream, startNamedUpstream } from "./client.ts";

const SCHEMA = `
  type Query { users(first: Int): [User] }
  type Mutation { clear: Boolean }
  type User { name: String posts: [Post] }
  type Post { title: String }
`;
const LIMIT = 500;
const first = (count: number) => ({ query: `query Names { users(first: ${count}) { name } }` });
const byVariable = "query ByVariable($n: Int) { users(first: $n) { name } }";

type Consumer = "ann" | "bob";

/** Requests in their order. `left` is what remains of the consumer's limit, or of the operation's. */
type Row = readonly [what: string, by: Consumer, body: unknown, status: number, left: number];

const byConsumer: readonly Row[] = [
  ["an operation takes its cost", "ann", first(300), 200, 200],
  ["an operation that costs more than is left takes nothing", "ann", first(250), 429, 200],
  ["another consumer has a limit of its own", "bob", first(450), 200, 50],
  ["a batch takes the costs of its operations", "ann", [first(100), first(40)], 200, 60],
  ["a list within a list multiplies", "ann", { query: "{ users(first: 4) { posts { title } } }" }, 200, 16],
  ["a mutation costs 10 more", "ann", { query: "mutation { clear }" }, 200, 6],
  ["a list has the size in the variables", "ann", { query: byVariable, variables: { n: 5 } }, 200, 1],
  ["an operation without objects costs 1", "ann", { query: "{ __typename }" }, 200, 0],
  ["nothing is left", "ann", { query: "{ __typename }" }, 429, 0],
  ["the other consumer still has what was left", "bob", first(50), 200, 0],
];

const byOperation: readonly Row[] = [
  ["an operation has a limit of its own", "ann", first(300), 200, 200],
  ["all consumers share it", "bob", first(150), 200, 50],
  ["another operation has another limit", "bob", { query: byVariable, variables: { n: 100 } }, 200, 400],
  ["an operation that costs more than is left is refused", "ann", first(51), 429, 50],
];

describe("limits of costs", () => {
  const folder = temporaryFolder("graphql-costs");
  const nodes: { readonly node: Process; readonly proxy: number }[] = [];
  let upstream: NamedUpstream;
  let redis: Redis;

  before(async () => {
    [upstream, redis] = await Promise.all([startNamedUpstream("users"), startRedis()]);
    const file = join(folder.path, "sluice.json");
    const limiting = { year: LIMIT, cost: "graphql" };
    const shared = { policy: "redis", sync_rate: -1, redis: { host: "127.0.0.1", port: redis.port } };
    const routes = {
      local: { ...limiting, policy: "local" },
      redis: { ...limiting, ...shared },
      "local-operation": { ...limiting, policy: "local", limit_by: "operation" },
      "redis-operation": { ...limiting, ...shared, limit_by: "operation" },
    };
    writeFileSync(
      file,
      JSON.stringify({
        _format_version: "3.0",
        services: Object.entries(routes).map(([name, config]) => ({
          name,
          url: `http://127.0.0.1:${upstream.port}`,
          routes: [{ name, paths: [`/${name}`] }],
          plugins: [
            { name: "key-auth" },
            { name: "graphql", config: { schema: SCHEMA } },
            { name: "rate-limiting", config },
          ],
        })),
        consumers: ["ann", "bob"].map((username) => ({
          username,
          keyauth_credentials: [{ key: `key-of-${username}` }],
        })),
      }),
    );
    for (let count = 0; count < 2; count++)
      nodes.push(await startFileNode({ file, env: { SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8" } }));
  });
  after(async () => {
    await Promise.all(nodes.map(({ node }) => node.stop()));
    await Promise.all([redis.stop(), upstream.close()]);
    folder.remove();
  });

  for (const [policy, rows, nodesAsked] of [
    ["local", byConsumer, 1],
    ["redis", byConsumer, 2],
    ["local-operation", byOperation, 1],
    ["redis-operation", byOperation, 2],
  ] as const)
    describe(`with the policy ${policy}, on ${nodesAsked === 1 ? "one node" : "two nodes in turn"}`, () => {
      for (const [at, [what, by, body, status, left]] of rows.entries())
        test(`${what}: ${left} of ${LIMIT} are left`, async () => {
          const response = await fetch(`http://127.0.0.1:${nodes[at % nodesAsked]?.proxy}/${policy}`, {
            method: "POST",
            headers: { "content-type": "application/json", apikey: `key-of-${by}` },
            body: JSON.stringify(body),
          });
          const { headers } = response;
          await response.body?.cancel();
          const shown = [
            "ratelimit-limit",
            "ratelimit-remaining",
            "x-ratelimit-limit-year",
            "x-ratelimit-remaining-year",
          ];
          assert.deepEqual(
            [response.status, ...shown.map((name) => headers.get(name))],
            [status, ...[LIMIT, left, LIMIT, left].map(String)],
          );
          // The windows begin at the same times on all nodes.
          const reset = Number(headers.get("ratelimit-reset"));
          assert.ok(reset > 0 && reset <= 366 * 86_400, `${reset}`);
          assert.equal(headers.get("retry-after"), status === 429 ? String(reset) : null);
        });
    });
});
