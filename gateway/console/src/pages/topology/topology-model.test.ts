import assert from "node:assert/strict";
import { test } from "node:test";
import { filterGroups, groupByService, INITIAL_ROUTES, layoutGroups, visibleGroups } from "./topology-model.ts";

const service = (id: string, host = "10.0.0.1") => ({
  id,
  name: id,
  protocol: "http",
  host,
  port: 80,
  path: null,
  enabled: true,
});
const route = (id: string, of: string | null, more: object = {}) => ({
  id,
  name: id,
  paths: [`/${id}`],
  service: of === null ? null : { id: of },
  regex_priority: 0,
  ...more,
});

const groups = groupByService({
  services: [service("a", "pool"), service("b")],
  upstreams: [{ id: "u", name: "pool" }],
  routes: [
    route("r1", "a"),
    route("r2", "a", { regex_priority: 5 }),
    route("r3", "b", { hosts: ["b.example"] }),
    route("r4", null),
  ],
});

test("routes are grouped by service, with the highest priority first, and routes without a service come last", () => {
  assert.deepEqual(
    groups.map(({ name, routes }) => [name, routes.map(({ id }) => id)]),
    [
      ["a", ["r2", "r1"]],
      ["b", ["r3"]],
      ["Routes without a service", ["r4"]],
    ],
  );
});

test("a service whose host is an upstream leads to the upstream", () => {
  assert.deepEqual(groups.map(({ upstream, url }) => [upstream?.name, url]).slice(0, 2), [
    ["pool", "http://pool"],
    [undefined, "http://10.0.0.1:80"],
  ]);
});

for (const [healthchecks, expected] of [
  [{ passive: { unhealthy: { http_failures: 5 } } }, true],
  [{ passive: { unhealthy: { http_failures: 0 } } }, false],
  [undefined, false],
] as const)
  test(`an upstream with the checks ${JSON.stringify(healthchecks)} ${expected ? "counts" : "does not count"} failures`, () => {
    const upstreams = [{ id: "u", name: "pool", healthchecks }];
    const [group] = groupByService({ services: [service("a", "pool")], upstreams, routes: [] });
    assert.equal(group?.upstream?.countsFailures, expected);
  });

for (const [members, expected] of [
  [{ protocols: ["http"], methods: ["GET"], hosts: ["a"] }, "GET a/r"],
  [{ protocols: ["tcp"], paths: null, sources: [{ ip: "10.0.0.0/8", port: null }] }, "tcp from 10.0.0.0/8"],
  [
    {
      protocols: ["tcp", "tls"],
      paths: null,
      snis: ["a"],
      destinations: [
        { ip: null, port: 1 },
        { ip: "::1", port: 2 },
      ],
    },
    "tcp, tls a to port 1, ::1 2",
  ],
] as const)
  test(`a route shows what it matches: ${expected}`, () => {
    const [group] = groupByService({ services: [service("a")], upstreams: [], routes: [route("r", "a", members)] });
    assert.equal(group?.routes[0]?.match, expected);
  });

test("a filter that matches routes keeps only these, and one that matches a service keeps all of its routes", () => {
  const found = (text: string) => filterGroups(groups, text).map(({ name, routes }) => [name, routes.length]);
  assert.deepEqual(found("R2"), [["a", 1]]);
  assert.deepEqual(found("POOL"), [["a", 2]]);
  assert.deepEqual(found("b.example"), [["b", 1]]);
  assert.deepEqual(found("nothing"), []);
});

test("of 10,000 routes only the groups in view are drawn, and each with few routes", () => {
  const services = Array.from({ length: 1000 }, (_, index) => service(`s${index}`));
  const routes = Array.from({ length: 10_000 }, (_, index) => route(`r${index}`, `s${index % 1000}`));
  const many = groupByService({ services, routes, upstreams: [] });
  const drawn = layoutGroups(many, { expanded: new Set(), targetsOf: () => 1, isNarrow: false });
  assert.ok(drawn.every((one) => one.routes.length === INITIAL_ROUTES && one.hidden === 10 - INITIAL_ROUTES));
  const middle = drawn[500] ?? assert.fail();
  const visible = visibleGroups(drawn, middle.top, middle.top + 1000);
  assert.ok(visible.includes(middle) && visible.length < 6, `${visible.length} groups are drawn`);
});
