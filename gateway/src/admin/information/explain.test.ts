/** The facts that the admin API adds to the explanation of a node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FleetExplanation } from "@sluice/model";
import { StoreUnavailable } from "../../stores/store.ts";
import type { AdminRequest } from "../requests.ts";
import { explainRoutes } from "./explain.ts";

const problem = (kind: string, name: string, reason = "SecretNotFound") => ({
  resource: { kind, namespace: "shop", name },
  reason,
  message: "there is no Secret keys",
  suggested: [],
});

/** The answers of the nodes, and members of the store. */
interface Facts {
  readonly [member: string]: unknown;
  readonly answers?: readonly { readonly node: string; readonly [member: string]: unknown }[];
  readonly unanswered?: readonly object[];
  /** As in `GET /status`. */
  readonly nodes?: readonly object[];
}

async function explain(status: number, problems: readonly object[], facts: Facts = {}) {
  const explanation = {
    warnings: ["first"],
    plugins: [
      { id: "1", label: "1" },
      { id: "2", label: "2" },
    ],
    response: { status },
    route: { id: "3", name: "invoices" },
    upstream: null,
    unknown: null,
  };
  const { answers = [{ node: "10.0.0.7:8100" }], unanswered = [], nodes = [], ...storeFacts } = facts;
  const store = {
    origin: async (_: string, id: string) =>
      id === "3"
        ? { in: "resource", resource: { kind: "Route", namespace: "shop", name: "invoices" } }
        : id === "1"
          ? { in: "resource", resource: { kind: "Plugin", namespace: "shop", name: "keys" } }
          : { in: "database" },
    problems: async () => problems,
    ...storeFacts,
  };
  const fleet = {
    askPlugin: async () => ({
      answered: answers.map(({ node, ...members }) => ({
        node,
        response: { status: 200, body: { ...explanation, ...members } },
      })),
      unanswered,
    }),
    status: async () => ({ nodes }),
  };
  const [route] = explainRoutes({ store, fleet } as unknown as Parameters<typeof explainRoutes>[0]);
  const bytes = Buffer.from(JSON.stringify({ url: "http://a/" }));
  const headers = { "content-type": "application/json" };
  const answer = await route?.handlers.POST?.({ headers, bytes } as unknown as AdminRequest);
  return answer?.body as typeof explanation & Pick<FleetExplanation, "node" | "nodes">;
}

test("a plugin has the name of its custom resource", async () => {
  const { plugins } = await explain(200, []);
  assert.deepEqual(
    plugins.map(({ label }) => label),
    ["shop/keys", "2"],
  );
});

test("an explanation is the one that most nodes give, and names the nodes that differ or do not answer", async () => {
  const forwarded = { response: null, upstream: { method: "GET", url: "http://shop/", targets: [] } };
  const { node, warnings, nodes, response } = await explain(404, [], {
    answers: [
      { node: "a", route: null },
      { node: "d", ...forwarded, warnings: [] },
      { node: "c", ...forwarded },
      { node: "b", ...forwarded },
      { node: "other", response: null, unknown: "no listener has the port 8443" },
    ],
    unanswered: [{ node: "e", reason: "it sends no heartbeats" }],
    nodes: [
      { address: "a", fleet: "shared", revision: 41 },
      { address: "b", fleet: "shared", revision: 42 },
      { address: "c", fleet: "shared", revision: 42 },
      { address: "d", fleet: "shared", revision: 40 },
      { address: "e", fleet: "shared" },
      { address: "other", fleet: "shop/web", revision: 42 },
    ],
  });
  assert.deepEqual([node, response], ["b", null]);
  const same = { unanswered: null, differences: [] };
  assert.deepEqual(nodes, [
    {
      node: "a",
      unanswered: null,
      differences: [
        { about: "route", here: null, explained: "invoices" },
        { about: "answer", here: "404", explained: "forwarded to GET http://shop/" },
      ],
      revision: 41,
    },
    { node: "b", ...same, revision: 42 },
    { node: "c", ...same, revision: 42 },
    { node: "d", ...same, revision: 40 },
    { node: "e", unanswered: "it sends no heartbeats", differences: [], revision: null },
  ]);
  assert.deepEqual(warnings, [
    "first",
    "the node a explains the request differently: route none instead of invoices; answer 404 instead of forwarded to GET http://shop/; it serves revision 41 instead of 42",
    "the node d gives the same explanation, but it serves revision 40 instead of 42",
    "the node e has not explained the request: it sends no heartbeats",
  ]);
});

test("at most ten nodes are named in warnings", async () => {
  const unanswered = Array.from({ length: 12 }, (_, at) => ({ node: `n${at}`, reason: "no response" }));
  const { warnings } = await explain(200, [], { unanswered });
  assert.deepEqual(
    [warnings.length, warnings.at(-1)],
    [12, "2 further nodes differ or have not answered: see nodes in the JSON response"],
  );
});

test("while the store cannot be read, the explanation of the node is returned without additions", async () => {
  const unavailable = async () => {
    throw new StoreUnavailable("the API server does not answer");
  };
  for (const facts of [{ origin: unavailable }, { problems: unavailable }]) {
    const { plugins, warnings } = await explain(401, [], facts);
    assert.deepEqual([plugins.map(({ label }) => label), warnings], [["1", "2"], ["first"]]);
  }
});

const rows: readonly (readonly [what: string, status: number, problems: readonly object[], warning?: string])[] = [
  [
    "one consumer once, even if it has two conditions",
    401,
    [problem("Consumer", "app"), problem("Consumer", "app")],
    "1 consumer has a credential that cannot be read: shop/app (there is no Secret keys)",
  ],
  [
    "the first five of many",
    401,
    ["a", "b", "c", "d", "e", "f"].map((name) => problem("Consumer", name)),
    "6 consumers have credentials that cannot be read: shop/a, shop/b, shop/c, shop/d, shop/e and 1 more",
  ],
  ["none whose problem is a different one", 401, [problem("Route", "app"), problem("Consumer", "app", "Invalid")]],
  ["none if the request is not refused for its credential", 403, [problem("Consumer", "app")]],
];
for (const [what, status, problems, warning] of rows)
  test(`a warning names consumers whose credential cannot be read: ${what}`, async () => {
    assert.deepEqual((await explain(status, problems)).warnings, [
      "first",
      ...(warning === undefined ? [] : [warning]),
    ]);
  });

const misspelt = "there is no Route invoice in the namespace shop (did you mean invoices?)";
for (const [what, members, isNamed] of [
  ["whose misspelt target is the route", {}, true],
  [
    "whose misspelt target is another route",
    { suggested: [{ kind: "Route", namespace: "shop", name: "orders" }] },
    false,
  ],
  ["twice because of a second condition", { condition: "Programmed" }, false],
] as const)
  test(`a warning ${isNamed ? "names" : "does not name"} an unserved Plugin ${what}`, async () => {
    const suggested = [{ kind: "Route", namespace: "shop", name: "invoices" }];
    const named = { condition: "ResolvedRefs", message: misspelt, suggested };
    const unserved = { ...problem("Plugin", "cors", "RouteNotFound"), ...named };
    const { warnings } = await explain(200, [{ ...unserved, ...members }]);
    const warning = `the Plugin shop/cors is not served, and may be meant for this route: ${misspelt}`;
    assert.deepEqual(warnings, ["first", ...(isNamed ? [warning] : [])]);
  });
