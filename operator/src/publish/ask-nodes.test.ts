import assert from "node:assert/strict";
import { test } from "node:test";
import {
  NODE_ENDPOINT_ID,
  nodePaths,
  type PluginEndpointCall,
  type PluginEndpointResult,
  SHARED_FLEET,
} from "@sluice/model";
import { type AskedNode, askNodes, nodesToAsk } from "./ask-nodes.ts";

type Reaction = PluginEndpointResult["response"] | Error | "never";

const callOf = (method: "GET" | "DELETE"): PluginEndpointCall => ({
  plugin: "id",
  request: { method, path: ["caches", "k"], query: {} },
});

/** Sends a request to fake nodes with these reactions. Returns the results, and the nodes with aborted requests. */
async function ask(
  method: "GET" | "DELETE",
  reactions: Readonly<Record<string, Reaction>>,
  silent: readonly string[] = [],
) {
  const nodes: readonly AskedNode[] = [...Object.keys(reactions), ...silent].map((address) => ({
    address,
    reason: silent.includes(address) ? "it does not answer" : null,
  }));
  const ended: string[] = [];
  const results = await askNodes(nodes, callOf(method), async ({ address, signal }) => {
    const reaction = reactions[address];
    if (reaction instanceof Error) throw reaction;
    if (reaction === "never") {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      ended.push(address);
      throw new Error("aborted");
    }
    return { response: reaction ?? null };
  });
  return { ...results, ended };
}

test("every node that is not silent is asked, and nodes that fail or are silent are named with the reason", async () => {
  const { answered, unanswered } = await ask("DELETE", { a: { status: 204 }, b: new Error("refused"), c: null }, ["d"]);
  assert.deepEqual(answered, [
    { node: "a", response: { status: 204 } },
    { node: "c", response: null },
  ]);
  assert.deepEqual(unanswered, [
    { node: "b", reason: "refused" },
    { node: "d", reason: "it does not answer" },
  ]);
});

test("a GET request ends with the first node that has the resource", async () => {
  const { answered, unanswered, ended } = await ask("GET", { a: { status: 404 }, b: "never", c: { status: 200 } });
  assert.deepEqual(
    answered.map(({ node }) => node),
    ["a", "c"],
  );
  assert.deepEqual([unanswered, ended], [[{ node: "b", reason: "no response" }], ["b"]]);
});

test("without nodes there are no results", async () => {
  assert.deepEqual(await ask("DELETE", {}), { answered: [], unanswered: [], ended: [] });
});

const explain = (port: number | null) =>
  ({
    plugin: NODE_ENDPOINT_ID,
    request: { method: "GET", path: [nodePaths.explain], query: {}, body: { url: "/", port } },
  }) as const;
const purge = { plugin: "p", request: { method: "DELETE", path: ["cache"], query: {} } } as const;

for (const [what, call, expected] of [
  ["a request to the nodes' own listeners is explained by nodes of the shared fleet", explain(null), ["a", "b"]],
  ["a request to a Gateway's listener is explained by nodes of any fleet", explain(80), ["a", "b", "own"]],
  ["an endpoint of a plugin is called on nodes of all fleets", purge, ["a", "b", "own"]],
] as const)
  test(`${what}, and silent nodes are named with the last error`, () => {
    const nodes = [
      { address: "a", fleet: SHARED_FLEET, lastError: null },
      { address: "b", fleet: SHARED_FLEET, lastError: "connection refused" },
      { address: "own", fleet: "gateway-web-0123456789", lastError: null },
    ];
    const asked = nodesToAsk(nodes, { call: call as PluginEndpointCall, silent: new Set(["b"]) });
    assert.deepEqual(
      asked.map(({ address, reason }) => [address, reason]),
      expected.map((address) => [address, address === "b" ? "connection refused" : null]),
    );
  });
