import assert from "node:assert/strict";
import { test } from "node:test";
import type { PluginEndpointCall, PluginEndpointResults, WaitRequest } from "@sluice/model";
import { Registry } from "prom-client";
import type { Publisher } from "./publish/publisher.ts";
import { createServer } from "./server.ts";

const acknowledgement = { programmed: true, acknowledged: ["http://a"], lagging: [], silent: ["http://b"] };
const publisher: Publisher = {
  setNodes: () => {},
  fleets: () => [],
  termChanged: () => {},
  publish: () => 7,
  revision: () => 7,
  hash: () => "abc",
  acknowledgement: () => acknowledgement,
  acknowledgedRevision: () => 7,
  missingPlugins: () => new Map(),
  failedListeners: () => new Map(),
  nodes: () => [
    {
      address: "http://a",
      fleet: "shared",
      state: { node: "n", hash: "abc", revision: 7, version: "1", statusPort: 8007 },
      lastAnswerAt: 0,
      unansweredSince: null,
      lastError: null,
      isRefusing: false,
    },
    {
      address: "http://b",
      fleet: "gateway-web-0123456789",
      state: null,
      lastAnswerAt: null,
      unansweredSince: null,
      lastError: "connection refused",
      isRefusing: true,
    },
  ],
  close: async () => {},
};

function scene({ unsynced = [] as readonly string[], waiting = 0, token = null as string | null } = {}) {
  const requests: WaitRequest[] = [];
  const calls: PluginEndpointCall[] = [];
  const answered = Promise.withResolvers<PluginEndpointResults>();
  const server = createServer({
    publisher,
    registry: new Registry(),
    unsynced: () => unsynced,
    election: { term: () => 3, leader: () => "pod-1" },
    derivedRoutes: () => 2,
    token,
    askPlugin(call) {
      calls.push(call);
      return answered.promise;
    },
    waiters: {
      wait: async (request) => {
        requests.push(request);
        return { ...acknowledgement, revision: 7, problems: [] };
      },
      size: waiting,
    },
  });
  return {
    requests,
    calls,
    answer: answered.resolve,
    ask: async (payload: object, authorization?: string) => {
      const headers = authorization === undefined ? {} : { authorization };
      const { statusCode, body } = await server.inject({ method: "POST", url: "/plugins", payload, headers });
      return [statusCode, JSON.parse(body) as { message?: string }] as const;
    },
    get: async (url: string) => {
      const { statusCode, body } = await server.inject({ url });
      return [statusCode, body] as const;
    },
    wait: async (payload: object) => {
      const { statusCode, body } = await server.inject({ method: "POST", url: "/wait", payload });
      return [statusCode, JSON.parse(body) as { message?: string; programmed?: boolean }] as const;
    },
  };
}
const written = { kind: "Route", namespace: "default", name: "users" };

test("the operator is alive before it is ready, and names the unread kinds", async () => {
  const { get } = scene({ unsynced: ["Route", "Secret"] });
  for (const path of ["/healthz", "/livez"]) assert.equal((await get(path))[0], 200, path);
  assert.deepEqual(await get("/readyz"), [503, '{"message":"not yet read: Route, Secret"}']);
  assert.equal((await scene().get("/readyz"))[0], 200);
});

test("the status lists every node with the revision and hash of its document, or with its error", async () => {
  const [code, body] = await scene().get("/status");
  const { programmed: _, ...nodes } = acknowledgement;
  const status = JSON.parse(body);
  const { lastSeen } = status.nodes[0];
  assert.ok(Math.abs(Date.now() - Date.parse(lastSeen)) < 60_000, lastSeen);
  assert.deepEqual(
    [code, status],
    [
      200,
      {
        revision: 7,
        hash: "abc",
        term: 3,
        leader: "pod-1",
        derivedRoutes: 2,
        ...nodes,
        nodes: [
          {
            address: "http://a",
            fleet: "shared",
            status: "http://a:8007",
            node: "n",
            hash: "abc",
            revision: 7,
            version: "1",
            statusPort: 8007,
            lastSeen,
            trouble: null,
          },
          {
            address: "http://b",
            fleet: "gateway-web-0123456789",
            lastSeen: null,
            status: null,
            trouble: "connection refused",
          },
        ],
      },
    ],
  );
});

test("a request to /wait waits for the resources in its body, and returns the result of the wait", async () => {
  const { wait, requests } = scene();
  const [code, { programmed }] = await wait({ resources: [{ ...written, generation: 1 }], timeout: 10 });
  assert.deepEqual([code, programmed], [200, true]);
  assert.deepEqual(requests, [{ resources: [{ ...written, generation: 1 }], timeout: 10 }]);
});

const refused: readonly (readonly [string, object, RegExp])[] = [
  ["without resources", {}, /required property 'resources'/],
  ["for an empty list", { resources: [] }, /must NOT have fewer than 1 items/],
  [
    "for too many resources",
    { resources: Array.from({ length: 5001 }, () => written) },
    /must NOT have more than 5000 items/,
  ],
  ["for a resource without a name", { resources: [{ kind: "Route", namespace: "default" }] }, /'name'/],
  ["for a kind that is not watched", { resources: [{ ...written, kind: "constructor" }] }, /allowed values/],
  ["for longer than half a minute", { resources: [written], timeout: 30_001 }, /must be <= 30000/],
  ["for a negative generation", { resources: [{ ...written, generation: -1 }] }, /must be >= 0/],
];
for (const [what, payload, message] of refused)
  test(`a wait ${what} is refused`, async () => {
    const { wait, requests } = scene();
    const [code, body] = await wait(payload);
    assert.deepEqual([code, requests], [400, []]);
    assert.match(body.message ?? "", message);
  });

test("at most a thousand requests wait concurrently", async () => {
  assert.deepEqual(await scene({ waiting: 1000 }).wait({ resources: [written] }), [
    503,
    { message: "too many requests are waiting" },
  ]);
});

const call = { plugin: "id", request: { method: "DELETE", path: ["caches"], query: {} } };
const results: PluginEndpointResults = { answered: [{ node: "http://a", response: { status: 204 } }], unanswered: [] };

test("a request to an endpoint of a plugin is answered with the results of the nodes", async () => {
  const { ask, calls, answer } = scene({ token: "secret" });
  answer(results);
  assert.deepEqual(await ask(call, "Bearer secret"), [200, results]);
  assert.deepEqual(calls, [call]);
});

for (const [what, token, authorization, payload, code, message] of [
  ["while the operator has no token", null, "Bearer null", call, 403, /set SLUICE_OPERATOR_TOKEN/],
  ["without a token", "secret", undefined, call, 401, /missing or wrong/],
  ["with another token", "secret", "Bearer secre", call, 401, /missing or wrong/],
  ["with the token under another scheme", "secret", "Basic secret", call, 401, /missing or wrong/],
  ["without a plugin", "secret", "Bearer secret", { request: call.request }, 400, /must have a plugin/],
  [
    "with the method TRACE",
    "secret",
    "Bearer secret",
    { ...call, request: { ...call.request, method: "TRACE" } },
    400,
    /must have/,
  ],
] as const)
  test(`a request to an endpoint of a plugin is refused ${what}, and no node is asked`, async () => {
    const { ask, calls } = scene({ token });
    const [status, body] = await ask(payload, authorization);
    assert.deepEqual([status, calls], [code, []]);
    assert.match(body.message ?? "", message);
  });

test("at most 16 requests to endpoints of plugins are under way", async () => {
  const { ask, calls, answer } = scene({ token: "secret" });
  const asked = Array.from({ length: 17 }, () => ask(call, "Bearer secret"));
  const [code] = await Promise.race(asked);
  assert.deepEqual([code, calls.length], [503, 16]);
  answer(results);
  assert.deepEqual((await Promise.all(asked)).map(([status]) => status).toSorted(), [...Array(16).fill(200), 503]);
  assert.equal((await ask(call, "Bearer secret"))[0], 200);
});
