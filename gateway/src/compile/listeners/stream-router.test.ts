import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketDifferences, type SnapshotRoute } from "@sluice/model";
import fc from "fast-check";
import type { StreamArrival } from "../runtime.ts";
import { routeNamed } from "../testing-entities.ts";
import { StreamRouter } from "./stream-router.ts";

type Members = Partial<Pick<SnapshotRoute, "protocols" | "snis" | "sources" | "destinations" | "created_at">>;

const routeOf = (name: string, members: Members): SnapshotRoute =>
  routeNamed(name, { hosts: null, paths: null, protocols: ["tcp"], ...members });

const byId = (all: readonly SnapshotRoute[]) => new Map(all.map((route) => [route.id, route]));

const routerOf = (routes: readonly SnapshotRoute[]) =>
  StreamRouter.empty.with(bucketDifferences(new Map<string, SnapshotRoute>(), byId(routes)));

const arrivalOf = (arrival: Partial<StreamArrival> = {}): StreamArrival => ({
  ...{ isTls: false, serverName: null },
  source: { address: "10.1.2.3", port: 50_000 },
  destination: { address: "192.0.2.1", port: 9000 },
  ...arrival,
});

const at = (ip: string | null, port: number | null = null) => [{ ip, port }];

/** Title, the routes in the order of their age, the arrival, and the name of the route that is chosen. */
const rows: readonly (readonly [
  title: string,
  routes: Readonly<Record<string, Members>>,
  arrival: Partial<StreamArrival>,
  chosen: string | null,
])[] = [
  ["a port of the destination", { a: { destinations: at(null, 9000) } }, {}, "a"],
  ["another port", { a: { destinations: at(null, 9001) } }, {}, null],
  ["one of several ports", { a: { destinations: [...at(null, 1), ...at(null, 9000)] } }, {}, "a"],
  ["an address of the destination", { a: { destinations: at("192.0.2.1") } }, {}, "a"],
  ["an address and a port in different entries", { a: { destinations: [...at("192.0.2.9", 9000)] } }, {}, null],
  ["a block of sources", { a: { sources: at("10.0.0.0/8") } }, {}, "a"],
  ["a block without the source", { a: { sources: at("10.2.0.0/16") } }, {}, null],
  ["a port of the source", { a: { sources: at(null, 50_000) } }, {}, "a"],
  ["an IPv6 source", { a: { sources: at("2001:db8::/32") } }, { source: { address: "2001:db8::1", port: 1 } }, "a"],
  ["sources and destinations together", { a: { sources: at("10.1.2.3"), destinations: at(null, 1) } }, {}, null],
  ["a TLS route on a listener without TLS", { a: { protocols: ["tls"], destinations: at(null, 9000) } }, {}, null],
  ["a TCP route on a listener with TLS", { a: { destinations: at(null, 9000) } }, { isTls: true }, null],
  ["a server name", { a: { protocols: ["tls"], snis: ["A.example"] } }, { isTls: true, serverName: "a.EXAMPLE" }, "a"],
  ["a configured final dot", { a: { protocols: ["tls"], snis: ["a.b."] } }, { isTls: true, serverName: "a.b" }, "a"],
  ["no server name", { a: { protocols: ["tls"], snis: ["a.example"] } }, { isTls: true }, null],
  [
    "a TLS route without server names",
    { a: { protocols: ["tls"], sources: at("10.1.2.3") } },
    { isTls: true, serverName: "x" },
    "a",
  ],
  [
    "server names of a route for tcp and tls, without TLS",
    { a: { protocols: ["tcp", "tls"], snis: ["a.example"], destinations: at(null, 9000) } },
    {},
    "a",
  ],
  [
    "server names before addresses",
    { a: { protocols: ["tls"], destinations: at("192.0.2.1", 9000) }, b: { protocols: ["tls"], snis: ["a.example"] } },
    { isTls: true, serverName: "a.example" },
    "b",
  ],
  [
    "sources with destinations before either",
    {
      a: { sources: at("10.1.2.3", 50_000) },
      b: { destinations: at("192.0.2.1", 9000) },
      c: { sources: at("10.0.0.0/8"), destinations: at(null, 9000) },
    },
    {},
    "c",
  ],
  [
    "sources before destinations",
    { a: { destinations: at("192.0.2.1", 9000) }, b: { sources: at("10.0.0.0/8") } },
    {},
    "b",
  ],
  ["an address before a port", { a: { sources: at(null, 50_000) }, b: { sources: at("10.1.2.3") } }, {}, "b"],
  ["a port before a block", { a: { sources: at("10.1.2.3/32") }, b: { sources: at(null, 50_000) } }, {}, "b"],
  [
    "a block with a port before a port",
    { a: { sources: at(null, 50_000) }, b: { sources: at("0.0.0.0/0", 50_000) } },
    {},
    "b",
  ],
  ["the narrower block", { a: { sources: at("10.0.0.0/8") }, b: { sources: at("10.1.0.0/16") } }, {}, "b"],
  ["the older route", { a: { sources: at("10.0.0.0/8") }, b: { sources: at("10.0.0.0/8") } }, {}, "a"],
];

for (const [title, members, arrival, chosen] of rows)
  test(`a connection gets ${chosen === null ? "no route" : `the route ${chosen}`}: ${title}`, () => {
    const routes = Object.entries(members).map(([name, own], index) => routeOf(name, { created_at: index, ...own }));
    for (const order of [routes, routes.toReversed()])
      assert.equal(routerOf(order).match(arrivalOf(arrival), () => true).route?.name ?? null, chosen);
  });

test("the protocol of a connection is that of its route and listener", () => {
  const router = routerOf([
    routeOf("a", { protocols: ["tls_passthrough"], snis: ["a"] }),
    routeOf("b", { protocols: ["tls"], snis: ["b"] }),
  ]);
  const protocolOf = (arrival: Partial<StreamArrival>) => router.match(arrivalOf(arrival), () => true).protocol;
  assert.deepEqual(
    [{ isTls: true, serverName: "a" }, { isTls: true, serverName: "b" }, { isTls: true, serverName: "c" }, {}].map(
      protocolOf,
    ),
    ["tls_passthrough", "tls", "tls", "tcp"],
  );
});

test("a route whose service is disabled does not hide another one", () => {
  const router = routerOf([routeOf("a", { sources: at("10.1.2.3") }), routeOf("b", { sources: at("10.0.0.0/8") })]);
  assert.equal(router.match(arrivalOf(), ({ name }) => name !== "a").route?.name, "b");
});

const endpoints = fc.option(
  fc.array(
    fc.record({
      ip: fc.constantFrom(null, "10.1.2.3", "10.0.0.0/8", "192.0.2.1", "192.0.2.0/24"),
      port: fc.constantFrom(null, 9000, 50_000),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  { nil: null },
);

const routes = fc
  .array(
    fc.record({
      protocols: fc.constantFrom<SnapshotRoute["protocols"]>(
        ["tcp"],
        ["tls"],
        ["tcp", "tls"],
        ["tls_passthrough"],
        ["http"],
      ),
      snis: fc.option(fc.constantFrom<string[]>(["a"], ["a", "b"]), { nil: null }),
      ...{ sources: endpoints, destinations: endpoints, created_at: fc.nat({ max: 2 }) },
    }),
    { maxLength: 8 },
  )
  .map((all) => all.map((members, index) => routeOf(`r${index}`, members)));

test("changes of routes give the same router as the routes themselves", () =>
  fc.assert(
    fc.property(routes, routes, fc.boolean(), fc.constantFrom(null, "a", "b"), (before, after, isTls, serverName) => {
      const changed = routerOf(before).with(bucketDifferences(byId(before), byId(after)));
      const arrival = arrivalOf({ isTls, serverName });
      assert.deepEqual(
        changed.match(arrival, () => true),
        routerOf(after).match(arrival, () => true),
      );
    }),
  ));
