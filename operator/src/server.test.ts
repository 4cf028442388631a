import assert from "node:assert/strict";
import { test } from "node:test";
import type { WaitRequest } from "@sluice/model";
import { Registry } from "prom-client";
import type { Publisher } from "./publish/publisher.ts";
import { createServer } from "./server.ts";

const acknowledgement = { programmed: true, acknowledged: ["http://a"], lagging: [], silent: ["http://b"] };
const publisher: Publisher = {
  setNodes: () => {},
  termChanged: () => {},
  publish: () => 7,
  revision: () => 7,
  hash: () => "abc",
  acknowledgement: () => acknowledgement,
  acknowledgedRevision: () => 7,
  missingPlugins: () => new Map(),
  nodes: () => [
    {
      address: "http://a",
      state: { node: "n", hash: "abc", revision: 7, version: "1", statusPort: 8007 },
      lastAnswerAt: 0,
      unansweredSince: null,
      lastError: null,
    },
    { address: "http://b", state: null, lastAnswerAt: 0, unansweredSince: null, lastError: "connection refused" },
  ],
  close: async () => {},
};

function scene({ unsynced = [] as readonly string[], waiting = 0 } = {}) {
  const requests: WaitRequest[] = [];
  const server = createServer({
    publisher,
    registry: new Registry(),
    unsynced: () => unsynced,
    election: { term: () => 3, leader: () => "pod-1" },
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
  assert.equal((await get("/healthz"))[0], 200);
  assert.deepEqual(await get("/readyz"), [503, '{"message":"not yet read: Route, Secret"}']);
  assert.equal((await scene().get("/readyz"))[0], 200);
});

test("the status lists every node with its document or its error", async () => {
  const [code, body] = await scene().get("/status");
  const { programmed: _, ...nodes } = acknowledgement;
  assert.deepEqual(
    [code, JSON.parse(body)],
    [
      200,
      {
        revision: 7,
        hash: "abc",
        term: 3,
        leader: "pod-1",
        ...nodes,
        nodes: [
          {
            address: "http://a",
            status: "http://a:8007",
            node: "n",
            hash: "abc",
            revision: 7,
            version: "1",
            statusPort: 8007,
            trouble: null,
          },
          { address: "http://b", status: null, trouble: "connection refused" },
        ],
      },
    ],
  );
});

test("the wait endpoint returns the waiter's result", async () => {
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
