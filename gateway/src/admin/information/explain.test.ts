/** The facts that the admin API adds to the explanation of a node. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { StoreUnavailable } from "../../stores/store.ts";
import type { AdminRequest } from "../requests.ts";
import { explainRoutes } from "./explain.ts";

const problem = (kind: string, name: string, reason = "SecretNotFound") => ({
  resource: { kind, namespace: "shop", name },
  reason,
  message: "there is no Secret keys",
  suggested: [],
});

async function explain(status: number, problems: readonly object[], facts: object = {}) {
  const explanation = {
    warnings: ["first"],
    plugins: [
      { id: "1", label: "1" },
      { id: "2", label: "2" },
    ],
    response: { status },
    route: { id: "3", name: "invoices" },
  };
  const store = {
    origin: async (_: string, id: string) =>
      id === "3"
        ? { in: "resource", resource: { kind: "Route", namespace: "shop", name: "invoices" } }
        : id === "1"
          ? { in: "resource", resource: { kind: "Plugin", namespace: "shop", name: "keys" } }
          : { in: "database" },
    problems: async () => problems,
    ...facts,
  };
  const fleet = {
    askPlugin: async () => ({
      answered: [{ node: "10.0.0.7:8100", response: { status: 200, body: explanation } }],
      unanswered: [],
    }),
  };
  const [route] = explainRoutes({ store, fleet } as unknown as Parameters<typeof explainRoutes>[0]);
  const bytes = Buffer.from(JSON.stringify({ url: "http://a/" }));
  const headers = { "content-type": "application/json" };
  const answer = await route?.handlers.POST?.({ headers, bytes } as unknown as AdminRequest);
  return answer?.body as typeof explanation;
}

test("a plugin has the name of its custom resource", async () => {
  const { plugins } = await explain(200, []);
  assert.deepEqual(
    plugins.map(({ label }) => label),
    ["shop/keys", "2"],
  );
});

test("an explanation names the node that gave it", async () => {
  assert.equal(((await explain(200, [])) as { readonly node?: string }).node, "10.0.0.7:8100");
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
