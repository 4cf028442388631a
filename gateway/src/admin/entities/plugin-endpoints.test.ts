import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkEntity, type Plugin, type PluginEndpointCall, type PluginEndpointResults } from "@sluice/model";
import type { EndpointResponse } from "@sluice/plugin-sdk";
import { HttpError } from "../http/errors.ts";
import { createTestingStore } from "../testing-store.ts";
import { pluginEndpointRoutes } from "./plugin-endpoints.ts";

const pluginOf = (name: string, config: object) => checkEntity("plugins", { name, config }).value as Plugin;
const cache = pluginOf("proxy-cache", { strategy: "memory" });
const cors = pluginOf("cors", {});

type Unanswered = PluginEndpointResults["unanswered"];

interface Given {
  /** The response of each node; null: the node has no such endpoint. */
  readonly answers?: readonly (EndpointResponse | null)[];
  readonly unanswered?: Unanswered;
  readonly query?: string;
  readonly body?: string;
  readonly type?: string;
}

/** Sends a request to the route `url`, and returns the response and the calls that the nodes received. */
async function ask(
  method: "GET" | "DELETE" | "POST",
  url: string,
  params: Readonly<Record<string, string>>,
  given: Given,
) {
  const { store } = createTestingStore();
  await store.write([cache, cors].map((entity) => ({ op: "create", collection: "plugins", entity })));
  const asked: PluginEndpointCall[] = [];
  const { answers = [], unanswered = [], query, body, type = "application/json" } = given;
  const fleet = {
    async askPlugin(call: PluginEndpointCall) {
      asked.push(call);
      return { answered: answers.map((response, at) => ({ node: `10.0.0.${at}:8005`, response })), unanswered };
    },
  };
  const handler = pluginEndpointRoutes({ store, fleet }).find((route) => route.url === url)?.handlers[method];
  assert.ok(handler, url);
  const received = {
    path: "/x",
    query: new URLSearchParams(query),
    headers: { "content-type": type },
    bytes: body === undefined ? undefined : Buffer.from(body),
    trusted: true,
    endsInSlash: false,
    author: "a test",
  };
  try {
    return { ...(await handler({ method, params, ...received })), asked };
  } catch (error) {
    if (error instanceof HttpError) return { status: error.status, body: error.body, asked };
    throw error;
  }
}

const ofCache = { plugin_id: cache.id, cache_key: "k" };
const done: EndpointResponse = { status: 204 };
const urls = [
  ["/plugins/:entity/*", { entity: cache.id, "*": "caches/k" }, ["caches", "k"]],
  ["/proxy-cache", {}, ["caches"]],
  ["/proxy-cache/:cache_key", { cache_key: "k" }, ["caches", "k"]],
  ["/proxy-cache/:plugin_id/caches/:cache_key", ofCache, ["caches", "k"]],
] as const;

const silent: Unanswered = [{ node: "10.0.0.9:8005", reason: "no response" }];

describe("an endpoint of a plugin", () => {
  for (const [url, params, path] of urls) {
    test(`answers with the response of the nodes, at ${url}`, async () => {
      const { status, asked } = await ask("DELETE", url, params, { answers: [done, done] });
      assert.deepEqual([status, asked], [204, [{ plugin: cache.id, request: { method: "DELETE", path, query: {} } }]]);
    });

    test(`answers with 503 while no node is known, at ${url}`, async () => {
      const { status, body } = await ask("DELETE", url, params, {});
      assert.deepEqual([status, body], [503, { message: "no node is running, or none is known to this process" }]);
    });

    test(`answers with 503, and names the nodes that did not answer, at ${url}`, async () => {
      const { status, body } = await ask("DELETE", url, params, { answers: [done], unanswered: silent });
      assert.equal(status, 503);
      assert.match(JSON.stringify(body), /done on the nodes that answered; .*: 10\.0\.0\.9:8005 \(no response\)"/);
    });

    test(`needs the response of only one node if the nodes share its state, at ${url}`, async () => {
      const answers = [{ ...done, isShared: true }];
      const { status } = await ask("DELETE", url, params, { answers, unanswered: silent });
      assert.equal(status, 204);
    });
  }

  const ofKey = ["/proxy-cache/:cache_key", { cache_key: "k" }] as const;
  const found: EndpointResponse = { status: 200, body: { ttl: 1 } };
  for (const [what, method, given, expected] of [
    [
      "answers a GET with 200 if one node has the resource, although another node did not answer",
      "GET",
      { answers: [{ status: 404 }, found], unanswered: silent },
      200,
    ],
    [
      "answers a GET with 503 if no node has the resource and another node did not answer",
      "GET",
      { answers: [{ status: 404 }], unanswered: silent },
      503,
    ],
    ["answers a GET with 404 if no node has the resource", "GET", { answers: [{ status: 404 }, null] }, 404],
    ["answers a DELETE with 204 if one node had the value", "DELETE", { answers: [{ status: 404 }, done, null] }, 204],
    [
      "answers a DELETE with 500 if it failed on one node",
      "DELETE",
      { answers: [done, { status: 500, body: { message: "x" } }] },
      500,
    ],
    ["answers a DELETE with 503 if no node answered", "DELETE", { unanswered: silent }, 503],
  ] as const satisfies readonly (readonly [string, "GET" | "DELETE", Given, number])[])
    test(what, async () => {
      const { status, body } = await ask(method, ...ofKey, given);
      assert.equal(status, expected, JSON.stringify(body));
      if (method === "GET" && expected === 200) assert.deepEqual(body, { ttl: 1 });
    });

  const below = { entity: cache.id, "*": "caches/k" };
  test("receives the query and the body of the request", async () => {
    const { asked } = await ask("POST", "/plugins/:entity/*", below, {
      answers: [done],
      query: "tag=a&tag=b&soft=1",
      body: '{"keys": ["k"]}',
    });
    assert.deepEqual(asked[0]?.request, {
      method: "POST",
      path: ["caches", "k"],
      query: { tag: ["a", "b"], soft: "1" },
      body: { keys: ["k"] },
    });
  });

  for (const [what, body, type, expected] of [
    ["that is not JSON", "{", "application/json", 400],
    ["with a member twice", '{"a": 1, "a": 2}', "application/json", 400],
    ["that is nested too deeply", "[".repeat(65) + "]".repeat(65), "application/json", 400],
    ["that is a form", "a=1", "application/x-www-form-urlencoded", 415],
    ["of more than 64 KiB", JSON.stringify("x".repeat(65_536)), "application/json", 413],
  ] as const)
    test(`refuses a body ${what}`, async () => {
      const { status, asked } = await ask("POST", "/plugins/:entity/*", below, { answers: [done], body, type });
      assert.deepEqual([status, asked], [expected, []]);
    });

  for (const [what, params] of [
    ["an unknown plugin", { entity: "11111111-1111-4111-8111-111111111111", "*": "caches" }],
    ["a plugin without endpoints", { entity: cors.id, "*": "caches" }],
    ["a path that the plugin does not have", { entity: cache.id, "*": "other" }],
  ] as const) {
    test(`does not exist for ${what}`, async () => {
      const { status, asked } = await ask("DELETE", "/plugins/:entity/*", params, { answers: [done] });
      assert.deepEqual([status, asked], [404, []]);
    });
  }
});
