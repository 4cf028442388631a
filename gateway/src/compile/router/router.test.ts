import assert from "node:assert/strict";
import { test } from "node:test";
import type { SnapshotRoute } from "@sluice/model";
import type { RoutableRequest } from "../runtime.ts";
import { routeNamed } from "../testing-entities.ts";
import { Router } from "./router.ts";

type Members = Partial<SnapshotRoute>;

const request = (members: Partial<RoutableRequest> & { readonly headers?: Record<string, readonly string[]> }) => {
  const { headers = {}, ...rest } = members;
  const plain = { method: "GET", path: "/", scheme: "http" as const, host: "a.com", serverName: null };
  const elsewhere = { query: "", documentPort: null };
  return { ...plain, ...elsewhere, headerValues: (name: string) => headers[name] ?? [], ...rest };
};

const match = (routes: readonly SnapshotRoute[], sent: Parameters<typeof request>[0]) =>
  Router.empty.with({ removed: [], added: routes }).match(request(sent));

/** In each row, the first route wins, in whatever order the two routes are added. */
const contests: readonly (readonly [rule: string, winner: Members, loser: Members, Parameters<typeof request>[0]])[] = [
  ["more kinds of attributes", { paths: ["/"], methods: ["GET"] }, { hosts: ["a.com"] }, {}],
  ["a host rather than a path", { hosts: ["a.com"] }, { paths: ["/a"] }, { path: "/a" }],
  ["a header rather than a path", { headers: { x: ["1"] } }, { paths: ["/a"] }, { path: "/a", headers: { x: ["1"] } }],
  ["a path rather than a method", { paths: ["/"] }, { methods: ["GET"] }, {}],
  ["a method rather than a server name", { methods: ["GET"] }, { snis: ["a.com"] }, {}],
  ["a plain host rather than a wildcard", { hosts: ["b.a.com"] }, { hosts: ["*.a.com"] }, { host: "b.a.com" }],
  [
    "a wildcard with a port rather than a plain host",
    { hosts: ["*.a.com:80"] },
    { hosts: ["b.a.com"] },
    { host: "b.a.com" },
  ],
  ["a regular expression rather than a longer prefix", { paths: ["~/a"] }, { paths: ["/abc"] }, { path: "/abcd" }],
  [
    "more headers",
    { paths: ["/"], headers: { x: ["1"], y: ["1"] } },
    { paths: ["/a"], headers: { x: ["1"] } },
    { path: "/a", headers: { x: ["1"], y: ["1"] } },
  ],
  [
    "the higher regex_priority",
    { paths: ["~/a"], regex_priority: 2 },
    { paths: ["~/a.*"], regex_priority: 1 },
    { path: "/ab" },
  ],
  ["the longer prefix", { paths: ["/ab"] }, { paths: ["/a"] }, { path: "/abc" }],
  ["the older route", { paths: ["/a"], created_at: 1 }, { paths: ["/a"], created_at: 2 }, { path: "/a" }],
  ["an exact path rather than an older prefix", { paths: ["~/a$"] }, { paths: ["/a"], created_at: -1 }, { path: "/a" }],
  [
    "the higher regex_priority of a pattern and an exact path",
    { paths: ["~/a.*"], regex_priority: 2 },
    { paths: ["~/ab$"], regex_priority: 1 },
    { path: "/ab" },
  ],
  [
    "the older route of a pattern and an exact path, whatever their lengths",
    { paths: ["~/ab$"], created_at: 1 },
    { paths: ["~/a.*"], created_at: 2 },
    { path: "/ab" },
  ],
  [
    "the longer matching prefix, whatever other paths the routes have",
    { paths: ["/ab"] },
    { paths: ["/a", "/abcd"] },
    { path: "/abc" },
  ],
];

for (const [rule, winner, loser, sent] of contests) {
  test(`the router prefers ${rule}`, () => {
    const [first, second] = [routeNamed("winner", winner), routeNamed("loser", loser)];
    for (const routes of [
      [first, second],
      [second, first],
    ]) {
      assert.equal(match(routes, sent).winner?.route.name, "winner");
    }
  });
}

const withPriority = (priority: number, members: Members): Members => ({ ...members, _sluice: { priority } });

/** As above; both routes match a request to b.a.com/ab with the header x. */
const contestsByPriority: readonly (readonly [rule: string, winner: Members, loser: Members])[] = [
  [
    "with a priority and a plain host to one with a wildcard, whatever their priorities",
    withPriority(0, { hosts: ["b.a.com"], paths: ["/"] }),
    withPriority(9, { hosts: ["*.a.com:80"], paths: ["/ab"], methods: ["GET"] }),
  ],
  [
    "with a priority and the longer wildcard, whatever their priorities",
    withPriority(0, { hosts: ["*.a.com"], paths: ["/"] }),
    withPriority(9, { hosts: ["*.com"], paths: ["/ab"], methods: ["GET"] }),
  ],
  [
    "with a priority and the longer wildcard to a shorter one with a port",
    withPriority(0, { hosts: ["*.a.com"], paths: ["/"] }),
    withPriority(9, { hosts: ["*.com:80"], paths: ["/ab"] }),
  ],
  [
    "with a priority and a wildcard to one without hosts, whatever their priorities",
    withPriority(0, { hosts: ["*.com"], paths: ["/"] }),
    withPriority(9, { paths: ["/ab"], methods: ["GET"], headers: { x: ["1"] } }),
  ],
  [
    "with the higher priority, whatever the other attributes",
    withPriority(1, { paths: ["/"], created_at: 2 }),
    withPriority(0, { paths: ["~/ab"], methods: ["GET"], headers: { x: ["1"] }, regex_priority: 5, created_at: 1 }),
  ],
  [
    "with the highest possible priority",
    withPriority(2 ** 31 - 1, { paths: ["/"] }),
    withPriority(2 ** 31 - 2, { paths: ["/ab"] }),
  ],
  [
    "that is older, of two with the same priority",
    withPriority(1, { paths: ["/"], created_at: 1 }),
    withPriority(1, { paths: ["/ab"], created_at: 2 }),
  ],
  [
    "whose name sorts first by code units, of two with the same priority and age",
    withPriority(1, { name: "Z-winner", paths: ["/"], id: "f".repeat(36) }),
    withPriority(1, { name: "a-loser", paths: ["/ab"], id: "0".repeat(36) }),
  ],
  [
    "with a priority to one without it that has the same host and a regular expression",
    withPriority(0, { hosts: ["b.a.com"], paths: ["/"], created_at: 2 }),
    { hosts: ["b.a.com"], paths: ["~/ab"], regex_priority: 5, created_at: 1 },
  ],
  [
    "without a priority that has more kinds of attributes than host and path to one with a priority",
    { hosts: ["*.com"], paths: ["/"], methods: ["GET"] },
    withPriority(9, { hosts: ["b.a.com"], paths: ["/ab"], methods: ["GET"], headers: { x: ["1"] } }),
  ],
  [
    "without a priority that has a host to one with a priority and without a host",
    { hosts: ["*.com"], paths: ["/"] },
    withPriority(9, { paths: ["/ab"], methods: ["GET"] }),
  ],
];

for (const [rule, winner, loser] of contestsByPriority) {
  test(`the router prefers a route ${rule}`, () => {
    const [first, second] = [routeNamed("winner", winner), routeNamed("loser", loser)];
    for (const added of [
      [first, second],
      [second, first],
    ]) {
      const sent = { host: "b.a.com", path: "/ab", headers: { x: ["1"] } };
      assert.equal(match(added, sent).winner?.route.id, first.id);
    }
  });
}

const matches: readonly (readonly [rule: string, Members, Parameters<typeof request>[0], boolean])[] = [
  ["matches a prefix by string, not by segment", { paths: ["/route"] }, { path: "/routereq" }, true],
  ["matches a regular expression only at the start of the path", { paths: ["~/b"] }, { path: "/a/b" }, false],
  [
    "matches a regular expression that does not extend to the end of the path",
    { paths: ["~/a/\\d+"] },
    { path: "/a/12/c" },
    true,
  ],
  ["matches an exact path", { paths: ["~/v1\\.0/a$"] }, { path: "/v1.0/a" }, true],
  ["does not match an exact path with a slash after it", { paths: ["~/a$"] }, { path: "/a/" }, false],
  ["does not match an exact path with a line feed after it", { paths: ["~/a$"] }, { path: "/a\n" }, false],
  [
    "does not match an exact path with a different character for a dot",
    { paths: ["~/a\\.b$"] },
    { path: "/axb" },
    false,
  ],
  ["matches a host with any port if the route names none", { hosts: ["a.com"] }, { host: "a.com:81" }, true],
  ["matches only the port that the route names", { hosts: ["a.com:81"] }, { host: "a.com:82" }, false],
  ["matches the scheme's default port if the client sends none", { hosts: ["a.com:443"] }, { scheme: "https" }, true],
  ["matches a host whatever its case in the route", { hosts: ["A.com"] }, {}, true],
  ["matches one or more labels with a left wildcard", { hosts: ["*.com"] }, { host: "b.a.com" }, true],
  ["does not match a left wildcard without a label in its place", { hosts: ["*.a.com"] }, {}, false],
  ["matches one or more labels with a right wildcard", { hosts: ["a.*"] }, { host: "a.co.uk:8000" }, true],
  ["matches an IPv6 address", { hosts: ["[::1]"] }, { host: "[::1]:8000" }, true],
  [
    "matches any of the values that a route names for a header, whatever the case",
    { headers: { X: ["one", "Two"] } },
    { headers: { x: ["tWo"] } },
    true,
  ],
  [
    "matches any value of a header that is sent several times",
    { headers: { X: ["one"] } },
    { headers: { x: ["two", "one"] } },
    true,
  ],
  [
    "does not match if one of the route's headers is missing",
    { headers: { X: ["one"], Y: ["one"] } },
    { headers: { x: ["one"] } },
    false,
  ],
  ["matches a header by a regular expression", { headers: { X: ["~*^v\\d+$"] } }, { headers: { x: ["V12"] } }, true],
  [
    "does not match a different server name over https",
    { snis: ["b.com"] },
    { scheme: "https", serverName: "a.com" },
    false,
  ],
  ["ignores server names over http", { snis: ["b.com"] }, {}, true],
  ["does not match a method in a different case", { methods: ["get"] }, {}, false],
  ["matches no request if the route has no attribute", {}, {}, false],
  ["treats empty lists as absent", { paths: ["/"], methods: [], hosts: [] }, {}, true],
  [
    "does not match a route with a protocol that Sluice does not proxy",
    { protocols: ["tcp"], paths: ["/"] },
    {},
    false,
  ],
];

for (const [rule, members, sent, expected] of matches) {
  test(`the router ${rule}`, () => {
    assert.equal(match([routeNamed("route", members)], sent).winner !== null, expected);
  });
}

test("the router returns the length of the matched part of the path, and the captured groups", () => {
  const prefix = match([routeNamed("r", { paths: ["/a"] })], { path: "/ab/c" });
  assert.deepEqual([prefix.length, prefix.captures], [2, null]);
  const pattern = match([routeNamed("r", { paths: ["~/users/(?<id>\\d+)"] })], { path: "/users/42/posts" });
  assert.equal(pattern.length, "/users/42".length);
  assert.deepEqual({ ...pattern.captures }, { 0: "/users/42", 1: "42", id: "42" });
  const exact = match([routeNamed("r", { paths: ["~/a\\.b$"] })], { path: "/a.b" });
  assert.deepEqual([exact.length, { ...exact.captures }], ["/a.b".length, {}]);
  assert.equal(match([routeNamed("r", { methods: ["GET"] })], { path: "/ab" }).length, 0);
});

test("of a route's regular expressions that match, the first in its list is used, even if one is an exact path", () => {
  const lengths = [
    ["~/a", "~/ab$"],
    ["~/ab$", "~/a"],
  ].map((paths) => match([routeNamed("r", { paths })], { path: "/ab" }).length);
  assert.deepEqual(lengths, ["/a".length, "/ab".length]);
});

test("a changed router does not affect the previous router, and an empty change returns the same router", () => {
  const [a, b] = [routeNamed("a", { paths: ["/abc"] }), routeNamed("b", { paths: ["/abd"] })];
  const first = Router.empty.with({ removed: [], added: [a] });
  const second = first.with({ removed: [], added: [b] });
  const third = second.with({ removed: [a], added: [] });
  const names = (router: Router) =>
    ["/abc", "/abd"].map((path) => router.match(request({ path })).winner?.route.name ?? null);
  assert.deepEqual(
    [names(first), names(second), names(third)],
    [
      ["a", null],
      ["a", "b"],
      [null, "b"],
    ],
  );
  assert.equal(third.with({ removed: [], added: [] }), third);
});

test("requests are divided between routes with shares, and a request always belongs to the same one", () => {
  const shares = { a: [0, 25], b: [25, 90], c: [90, 100] } as const;
  const routes = Object.entries(shares).map(([name, [from, to]]) =>
    routeNamed(name, { paths: ["/"], _sluice: { priority: 0, match: { share: { from, to } } } }),
  );
  const router = Router.empty.with({ removed: [], added: routes });
  const counts = new Map<string | null | undefined, number>();
  for (let count = 0; count < 10_000; count++) {
    const one = request({});
    const name = router.match(one).winner?.route.name;
    assert.equal(router.match(one).winner?.route.name, name);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  for (const [name, [from, to]] of Object.entries(shares)) {
    // Six standard deviations are less than 300.
    assert.ok(Math.abs((counts.get(name) ?? 0) - (to - from) * 100) < 300, `${name}: ${counts.get(name)}`);
  }
});

test("a route with an empty share matches no request", () => {
  const route = routeNamed("none", { paths: ["/"], _sluice: { priority: 0, match: { share: { from: 10, to: 10 } } } });
  assert.equal(match([route], {}).winner, null);
});
