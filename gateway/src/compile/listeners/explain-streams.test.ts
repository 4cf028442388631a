import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketDifferences, type DocumentListener, type SnapshotRoute } from "@sluice/model";
import fc from "fast-check";
import type { ExplainedArrival, ExplainedRoutes } from "../runtime.ts";
import { routeNamed } from "../testing-entities.ts";
import { type ExplainStreamsOptions, explainStreamRoutes } from "./explain-streams.ts";
import { StreamRouter } from "./stream-router.ts";
import { StreamRoutes } from "./stream-routes.ts";

type Members = Partial<SnapshotRoute>;

/** The routes in the order of their age. */
const routesOf = (all: Readonly<Record<string, Members>>): readonly SnapshotRoute[] =>
  Object.entries(all).map(([name, members], age) =>
    routeNamed(name, { hosts: null, paths: null, protocols: ["tcp"], created_at: age + 1, ...members }),
  );

const arrivalOf = (arrival: Partial<ExplainedArrival> = {}): ExplainedArrival => ({
  ...{ isTls: false, serverName: null, listener: null },
  source: { address: "10.1.2.3", port: 50_000 },
  destination: { address: "192.0.2.1", port: 9000 },
  ...arrival,
});

function explained(
  routes: readonly SnapshotRoute[],
  arrival: ExplainedArrival,
  { size = 20, disabledService = () => null }: Partial<ExplainStreamsOptions> = {},
): ExplainedRoutes {
  const steps = explainStreamRoutes(routes, arrival, { size, disabledService });
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

const at = (ip: string | null, port: number | null = null) => [{ ip, port }];
const listener: DocumentListener = { name: "a/tls", port: 9443, public_port: 443, protocol: "tls" };
const onListener = (members: Members): Members => ({
  protocols: ["tls"],
  ...members,
  _sluice: { listeners: ["a/tls"] },
});
const toListener = { isTls: true, serverName: "a.b.example", listener };

const mismatches: readonly (readonly [
  members: Members,
  arrival: Partial<ExplainedArrival>,
  attribute: string,
  reason: string,
])[] = [
  [{ protocols: ["tls"] }, {}, "protocol", "the connection has no TLS, and the route has the protocol tls"],
  [{ protocols: ["tcp"] }, { isTls: true }, "protocol", "the connection has TLS, and the route has the protocol tcp"],
  [
    { protocols: ["tls"], snis: ["A.example", "b.example"] },
    { isTls: true, serverName: "c.example" },
    "sni",
    "the TLS server name c.example is not one of a.example, b.example",
  ],
  [{ protocols: ["tls"], snis: ["a.example"] }, { isTls: true }, "sni", "the TLS server name (none) is not a.example"],
  [
    { destinations: [...at(null, 9001), ...at("192.0.2.0/28", 9000), ...at("192.0.2.9")], sources: at("10.2.0.0/16") },
    { destination: { address: "192.0.2.20", port: 9000 } },
    "destination",
    "the destination 192.0.2.20:9000 is not one of port 9001, 192.0.2.0/28 port 9000, 192.0.2.9",
  ],
  [{ sources: at("10.2.0.0/16") }, {}, "source", "the source 10.1.2.3:50000 is not 10.2.0.0/16"],
  [
    { sources: at("10.2.0.0/16") },
    { source: { address: "2001:db8::1", port: 0 } },
    "source",
    "the source 2001:db8::1 is not 10.2.0.0/16",
  ],
  [
    onListener({ protocols: ["tls_passthrough"] }),
    toListener,
    "protocol",
    "the listener has the protocol tls, and the route has the protocol tls_passthrough",
  ],
  [
    onListener({ hosts: ["c.example", "*.c.example"] }),
    toListener,
    "host",
    "the TLS server name a.b.example is not one of c.example, *.c.example",
  ],
  [onListener({}), { ...toListener, serverName: null }, "host", "the client sends no server name"],
];
for (const [members, arrival, attribute, reason] of mismatches)
  test(`a mismatch is explained: ${reason}`, () => {
    const { nearest, others } = explained(routesOf({ r: members }), arrivalOf(arrival));
    assert.deepEqual([nearest.map(({ mismatch }) => mismatch), others], [[{ attribute, reason }], 0]);
  });

test("a route whose service is disabled does not match, with the name of the service", () => {
  const { nearest } = explained(routesOf({ r: {} }), arrivalOf(), { disabledService: () => "s" });
  assert.deepEqual(nearest[0]?.mismatch, { attribute: "service", reason: "the service s is disabled" });
});

const order = "a single address comes before a port, and a port before a CIDR block";
const precedences: readonly (readonly [
  lost: Members,
  chosen: Members,
  arrival: Partial<ExplainedArrival>,
  why: string,
])[] = [
  [
    { protocols: ["tls"], destinations: at("192.0.2.1", 9000) },
    { protocols: ["tls"], snis: ["a.example"] },
    { isTls: true, serverName: "a.example" },
    "it has snis, or both sources and destinations",
  ],
  [{ destinations: at("192.0.2.1") }, { sources: at("10.0.0.0/8") }, {}, `its sources are more specific: ${order}`],
  [
    { destinations: at("192.0.2.0/24") },
    { destinations: at(null, 9000) },
    {},
    `its destinations are more specific: ${order}`,
  ],
  [{ sources: at("10.0.0.0/8") }, { sources: at("10.1.0.0/16") }, {}, "its CIDR block of sources is narrower"],
  [
    { destinations: at("192.0.0.0/16") },
    { destinations: at("192.0.2.0/24") },
    {},
    "its CIDR block of destinations is narrower",
  ],
  [onListener({}), onListener({ hosts: ["*.example"] }), toListener, "its host is more specific"],
  [
    onListener({ hosts: ["*.example"] }),
    onListener({ hosts: ["*.b.example"] }),
    toListener,
    "its host is more specific",
  ],
  [
    onListener({ hosts: ["*.b.example"] }),
    onListener({ hosts: ["a.b.example"] }),
    toListener,
    "its host is more specific",
  ],
];
for (const [lost, chosen, arrival, why] of precedences)
  test(`of ${JSON.stringify(lost)} and ${JSON.stringify(chosen)} the second is chosen: ${why}`, () => {
    const { nearest } = explained(routesOf({ lost, chosen }), arrivalOf(arrival));
    assert.deepEqual(
      nearest.map(({ route, mismatch, lostBecause }) => [route.name, mismatch, lostBecause]),
      [
        ["chosen", null, null],
        ["lost", null, why],
      ],
    );
  });

for (const [what, ages, why] of [
  ["the older route", [1, 2], "it is older"],
  ["of equally old routes the first name", [1, 1], "both are equally old, and its name sorts first"],
] as const)
  test(`${what} is chosen if nothing else decides`, () => {
    const [first, second] = ages;
    const routes = routesOf({ a: { created_at: first }, b: { created_at: second } });
    const { nearest } = explained(routes.toReversed(), arrivalOf());
    assert.deepEqual(
      nearest.map(({ route, lostBecause }) => [route.name, lostBecause]),
      [
        ["a", null],
        ["b", why],
      ],
    );
  });

test("the nearest routes come first, others are counted, and routes for requests and for listeners are left out", () => {
  const routes = routesOf({
    far: { protocols: ["tls"] },
    near: { sources: at("10.2.0.0/16") },
    middle: { destinations: at(null, 1) },
    request: { protocols: ["http"], paths: ["/"] },
    gateway: onListener({}),
  });
  const { nearest, others } = explained(routes, arrivalOf(), { size: 2 });
  assert.deepEqual([nearest.map(({ route }) => route.name), others], [["near", "middle"], 1]);
});

const ends = fc.option(
  fc.array(
    fc
      .record({
        ip: fc.constantFrom(null, "10.0.0.1", "10.0.0.0/8", "10.0.0.0/30", "192.0.2.1"),
        port: fc.constantFrom(null, 1, 2),
      })
      .filter(({ ip, port }) => ip !== null || port !== null),
    { minLength: 1, maxLength: 2 },
  ),
  { nil: null },
);
const anyRoutes = fc
  .array(
    fc.record({
      protocols: fc.constantFrom<SnapshotRoute["protocols"]>(["tcp"], ["tls"], ["tcp", "tls"], ["tls_passthrough"]),
      snis: fc.option(fc.subarray(["a.example", "B.example", "c.example."], { minLength: 1 }), { nil: null }),
      sources: ends,
      destinations: ends,
      created_at: fc.nat({ max: 2 }),
    }),
    { maxLength: 8 },
  )
  .map((all) => all.map((members, at) => routeNamed(`r${at}`, { hosts: null, paths: null, ...members })));
const end = fc.record({ address: fc.constantFrom("10.0.0.1", "10.9.9.9", "192.0.2.1"), port: fc.constantFrom(1, 2) });
const anyArrival = fc
  .record({
    serverName: fc.constantFrom(null, "a.example", "b.Example", "x"),
    isTls: fc.boolean(),
    source: end,
    destination: end,
  })
  .map(({ serverName, ...rest }) => arrivalOf({ ...rest, serverName: rest.isTls ? serverName : null }));
const byId = (all: readonly SnapshotRoute[]) => new Map(all.map((route) => [route.id, route]));

test("the chosen route is that of the router, whichever services are disabled", () => {
  fc.assert(
    fc.property(anyRoutes, anyArrival, fc.nat({ max: 255 }), fc.constantFrom(1, 20), (routes, arrival, mask, size) => {
      const router = StreamRouter.empty.with(bucketDifferences(new Map<string, SnapshotRoute>(), byId(routes)));
      const disabledService = (route: SnapshotRoute) => ((mask >> routes.indexOf(route)) & 1 ? "s" : null);
      const { route } = router.match(arrival, (one) => disabledService(one) === null);
      const [first] = explained(routes, arrival, { size, disabledService }).nearest;
      assert.equal(first?.mismatch === null ? first.route.name : null, route?.name ?? null);
    }),
    { numRuns: 2000 },
  );
});

const anyHosts = fc.option(fc.subarray(["a.b.example", "*.b.example", "*.example", "A.example", "*.a.b.example"]), {
  nil: null,
});
const listened = fc
  .array(
    fc.record({
      hosts: anyHosts,
      protocols: fc.constantFrom<SnapshotRoute["protocols"]>(["tls"], ["tls_passthrough"]),
      created_at: fc.nat({ max: 2 }),
    }),
    { maxLength: 8 },
  )
  .map((all) =>
    all.map((members, at) => routeNamed(`r${at}`, { paths: null, ...members, _sluice: { listeners: ["a/tls"] } })),
  );

test("the chosen route of a listener is the one that the listener finds", () => {
  const names = fc.constantFrom("a.b.example", "b.example", "a.example", "example", "x.a.b.example");
  fc.assert(
    fc.property(listened, names, (routes, serverName) => {
      const found = StreamRoutes.empty.with(bucketDifferences(new Map<string, SnapshotRoute>(), byId(routes)));
      const [first] = explained(routes, arrivalOf({ ...toListener, serverName })).nearest;
      const chosen = first?.mismatch === null ? first.route.name : null;
      assert.equal(chosen, found.find(listener, serverName)?.name ?? null);
    }),
    { numRuns: 2000 },
  );
});
