import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, test } from "node:test";
import { checkEntity, type Target, type Upstream } from "@sluice/model";
import type { HealthChange } from "../context.ts";
import { HttpError } from "../http/errors.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { createTestingStore } from "../testing-store.ts";
import { healthRoutes, type TargetHealthOptions } from "./target-health.ts";

const upstream = checkEntity("upstreams", { name: "u" }).value as Upstream;
const targetOf = (target: string) => checkEntity("targets", { target, upstream: { id: upstream.id } }).value as Target;
const [one, two] = [targetOf("10.0.0.1:80"), targetOf("10.0.0.2:80")];

async function filled() {
  const { store } = createTestingStore();
  await store.write([
    { op: "create", collection: "upstreams", entity: upstream },
    { op: "create", collection: "targets", entity: one },
    { op: "create", collection: "targets", entity: two },
  ]);
  return store;
}

async function ask(options: TargetHealthOptions, method: "GET" | "PUT", url: string, received: Partial<AdminRequest>) {
  const handler = healthRoutes(options).find((route) => route.url === url)?.handlers[method];
  assert.ok(handler, url);
  const request = {
    method,
    path: "/x",
    query: new URLSearchParams(),
    headers: {},
    bytes: undefined,
    trusted: true,
    endsInSlash: false,
    author: "a test",
    ...received,
  };
  try {
    return await handler({ params: {}, ...request });
  } catch (error) {
    if (error instanceof HttpError) return { status: error.status, body: error.body } satisfies AdminResponse;
    throw error;
  }
}

async function withNodes(
  bodies: readonly unknown[],
  run: (nodes: { address: string; status: string | null }[]) => Promise<void>,
) {
  const servers = bodies.map((body) =>
    createServer((request, response) => {
      response.setHeader("content-type", "application/json");
      if (request.url !== "/upstreams/health") response.statusCode = 404;
      response.end(JSON.stringify(body));
    }),
  );
  const nodes = [];
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    nodes.push({ address: "a", status: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
  }
  try {
    await run(nodes);
  } finally {
    for (const server of servers) server.closeAllConnections();
    await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

const params = { entity: "u" };
const healthy = { health: "HEALTHY", addresses: [{ ip: "10.0.0.1", port: 80, health: "HEALTHY" }] };
const unhealthy = { health: "UNHEALTHY", addresses: [] };
const reportOf = (first: object, second: object) => ({ [upstream.id]: { [one.id]: first, [two.id]: second } });

describe("the health of a target", () => {
  test("is UNHEALTHY if a single node reports UNHEALTHY, and one HEALTHY target makes the upstream HEALTHY", () =>
    withNodes([reportOf(healthy, healthy), reportOf(healthy, unhealthy)], async (nodes) => {
      const options = { store: await filled(), fleet: { nodes: async () => nodes }, node: "n" };
      const { body } = await ask(options, "GET", "/upstreams/:entity/health", { params });
      const data = (body as { data: (Target & { health: string; data: object })[] }).data;
      const by = new Map(data.map(({ target, health }) => [target, health]));
      assert.deepEqual(Object.fromEntries(by), { "10.0.0.1:80": "HEALTHY", "10.0.0.2:80": "UNHEALTHY" });
      assert.deepEqual(data.find(({ id }) => id === one.id)?.data, { addresses: healthy.addresses });
      const query = new URLSearchParams("balancer_health=1");
      const whole = await ask(options, "GET", "/upstreams/:entity/health", { params, query });
      assert.deepEqual(whole.body, { data: { id: upstream.id, health: "HEALTHY" }, next: null, node_id: "n" });
    }));

  test("is listed for endpoints of core Services too, after the last page of targets", () => {
    const ends = {
      "10.1.0.2:80": { ...unhealthy, weight: 3 },
      "10.1.0.1:80": { ...healthy, weight: 5 },
    };
    const report = { [upstream.id]: { [one.id]: healthy, [two.id]: healthy, ...ends } };
    return withNodes([report], async (nodes) => {
      const options = { store: await filled(), fleet: { nodes: async () => nodes }, node: "n" };
      const list = async (query: string) => {
        const received = { params, query: new URLSearchParams(query) };
        const { body } = await ask(options, "GET", "/upstreams/:entity/health", received);
        return body as { data: (Target & { health: string })[]; next: string | null };
      };
      const { data } = await list("");
      assert.deepEqual(
        data.slice(2).map(({ id, target, weight, health }) => [id, target, weight, health]),
        [
          ["10.1.0.1:80", "10.1.0.1:80", 5, "HEALTHY"],
          ["10.1.0.2:80", "10.1.0.2:80", 3, "UNHEALTHY"],
        ],
      );
      const first = await list("size=1");
      assert.deepEqual([first.data.length, first.next !== null], [1, true]);
    });
  });

  test("is left out if no node can report it", async () => {
    const nodes = async () => [
      { address: "a", status: "http://127.0.0.1:1" },
      { address: "b", status: null },
    ];
    const { status, body } = await ask(
      { store: await filled(), fleet: { nodes }, node: "n" },
      "GET",
      "/upstreams/:entity/health",
      { params },
    );
    assert.equal(status, 200);
    assert.ok((body as { data: object[] }).data.every((target) => !Object.hasOwn(target, "health")));
  });

  test("is set on the node of this process, for one address or for all; an unknown address or target is an error", async () => {
    const set: HealthChange[] = [];
    const setHealth = async (change: HealthChange) => {
      set.push(change);
      return change.address === "10.0.0.9:80" ? "the target has no such address" : undefined;
    };
    const options = { store: await filled(), fleet: { nodes: async () => [] }, node: "n", setHealth };
    const url = "/upstreams/:entity/targets/:child";
    const child = "10.0.0.1:80";
    const answers = [
      await ask(options, "PUT", `${url}/healthy`, { params: { entity: "u", child } }),
      await ask(options, "PUT", `${url}/unhealthy`, { params: { entity: upstream.id, child: two.id } }),
      await ask(options, "PUT", `${url}/:address/unhealthy`, {
        params: { entity: "u", child, address: "10.0.0.9:80" },
      }),
      await ask(options, "PUT", `${url}/healthy`, { params: { entity: "u", child: "nobody:1" } }),
    ];
    assert.deepEqual(answers, [
      { status: 204 },
      { status: 204 },
      { status: 400, body: { message: "the target has no such address" } },
      { status: 404, body: { message: "Not found" } },
    ]);
    assert.deepEqual(
      set.map((change) => [change.target.target, change.address, change.healthy]),
      [
        ["10.0.0.1:80", undefined, true],
        ["10.0.0.2:80", undefined, false],
        ["10.0.0.1:80", "10.0.0.9:80", false],
      ],
    );
  });

  test("cannot be set in a process without a node, and the error gives the reason", async () => {
    const options = { store: await filled(), fleet: { nodes: async () => [] }, node: "n" };
    const { status, body } = await ask(options, "PUT", "/upstreams/:entity/targets/:child/healthy", {
      params: { entity: "u", child: "10.0.0.1:80" },
    });
    assert.equal(status, 400);
    assert.match((body as { message: string }).message, /no node runs in this process/);
  });
});
