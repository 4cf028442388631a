import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkEntity, type Plugin } from "@sluice/model";
import type { EndpointRequest, EndpointResponse } from "@sluice/plugin-sdk";
import type { FleetNode } from "../../stores/store.ts";
import { HttpError } from "../http/errors.ts";
import { createTestingStore } from "../testing-store.ts";
import { pluginEndpointRoutes } from "./plugin-endpoints.ts";

const pluginOf = (name: string, config: object) => checkEntity("plugins", { name, config }).value as Plugin;
const cache = pluginOf("proxy-cache", { strategy: "memory" });
const cors = pluginOf("cors", {});

const own: FleetNode = { node: "own", address: "10.0.0.1:8007", status: null };
const other: FleetNode = { node: "other", address: "10.0.0.2:8007", status: null };

interface Given {
  readonly nodes?: readonly FleetNode[];
  /** Null: the process has no node. */
  readonly answer?: EndpointResponse | null;
}

/** Sends a request to a URL as it is served, and returns the response and the requests that the node received. */
async function ask(method: "GET" | "DELETE", url: string, params: Readonly<Record<string, string>>, given: Given) {
  const { store } = createTestingStore();
  await store.write([cache, cors].map((entity) => ({ op: "create", collection: "plugins", entity })));
  const asked: (readonly [string, EndpointRequest])[] = [];
  const { answer, nodes = [own] } = given;
  const pluginNode = {
    id: () => "own",
    ask: async (id: string, request: EndpointRequest) => {
      asked.push([id, request]);
      return answer ?? null;
    },
  };
  const options = { store, fleet: { nodes: async () => nodes }, ...(answer !== null && { pluginNode }) };
  const handler = pluginEndpointRoutes(options).find((route) => route.url === url)?.handlers[method];
  assert.ok(handler, url);
  const rest = { path: "/x", query: new URLSearchParams(), headers: {}, bytes: undefined, trusted: true };
  try {
    return { ...(await handler({ method, params, ...rest })), asked };
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

describe("an endpoint of a plugin", () => {
  for (const [url, params, path] of urls) {
    test(`answers with the response of the node, at ${url}`, async () => {
      const { status, asked } = await ask("DELETE", url, params, { answer: done });
      assert.deepEqual([status, asked], [204, [[cache.id, { method: "DELETE", path }]]]);
    });

    test(`is refused in a process without a node, at ${url}`, async () => {
      const { status, body } = await ask("DELETE", url, params, { answer: null });
      assert.equal(status, 400);
      assert.match(JSON.stringify(body), /no node runs in this process/);
    });

    test(`names the nodes that it has not reached, at ${url}`, async () => {
      const { status, body } = await ask("DELETE", url, params, { answer: done, nodes: [own, other] });
      assert.equal(status, 503);
      assert.match(JSON.stringify(body), /done on this node only.*10\.0\.0\.2:8007"/);
      assert.doesNotMatch(JSON.stringify(body), /10\.0\.0\.1/);
    });

    test(`needs no other node if its state is shared, at ${url}`, async () => {
      const { status } = await ask("DELETE", url, params, { answer: { ...done, isShared: true }, nodes: [own, other] });
      assert.equal(status, 204);
    });
  }

  test("that only reads needs no other node", async () => {
    const answer = { status: 200, body: { ttl: 1 } };
    const { status, body } = await ask(
      "GET",
      "/proxy-cache/:cache_key",
      { cache_key: "k" },
      { answer, nodes: [own, other] },
    );
    assert.deepEqual([status, body], [200, { ttl: 1 }]);
  });

  test("is reported as failed if it failed", async () => {
    const answer = { status: 500, body: { message: "Redis" } };
    const { status, body } = await ask("DELETE", "/proxy-cache", {}, { answer });
    assert.deepEqual([status, body], [500, { message: "Redis" }]);
  });

  for (const [what, params] of [
    ["an unknown plugin", { entity: "11111111-1111-4111-8111-111111111111", "*": "caches" }],
    ["a plugin without endpoints", { entity: cors.id, "*": "caches" }],
    ["another path", { entity: cache.id, "*": "other" }],
  ] as const) {
    test(`does not exist for ${what}`, async () => {
      const { status, asked } = await ask("DELETE", "/plugins/:entity/*", params, { answer: done });
      assert.deepEqual([status, asked], [404, []]);
    });
  }
});
