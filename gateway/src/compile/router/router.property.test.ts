import assert from "node:assert/strict";
import { test } from "node:test";
import type { SnapshotRoute } from "@sluice/model";
import fc from "fast-check";
import { randomCases } from "../../../../tools/stages/random-cases.ts";
import type { RoutableRequest } from "../runtime.ts";
import { routeNamed } from "../testing-entities.ts";
import { compareEntries } from "./precedence.ts";
import { routeEntriesOf } from "./route-entry.ts";
import { Router } from "./router.ts";
import { naiveMatch } from "./testing-naive.ts";

/** Few values for each attribute, so that requests match routes often. */
const words = {
  hosts: ["a.com", "b.a.com", "a.com:8000", "*.com", "*.a.com", "*.a.com:8000", "a.*", "b.a.*", "b.*:80", "A.com"],
  requestHosts: [
    "a.com",
    "a.com:8000",
    "b.a.com",
    "b.a.com:8000",
    "c.b.a.com",
    "b.org",
    "b.org:80",
    "com",
    "",
    "[::1]:80",
  ],
  paths: ["/", "/a", "/a/", "/ab", "/a/b", "/abc/d", "/b", "~/a", "~/a[bc]", "~/(?:a|ab)/?", "~/b.*"],
  exactPaths: ["~/$", "~/a$", "~/a/$", "~/ab$", "~/a/b$", "~/a\\.b$", "~/a.b$", "~/a\\-b$", "~/ab\\$", "~/(a)$"],
  requestPaths: ["/", "/a", "/a/", "/ab", "/abc", "/abc/d/e", "/a/b", "/b", "/bb/c", "/c", "/a.b", "/a-b", "/ab$"],
  methods: ["GET", "POST", "PURGE"],
  snis: ["a.com", "b.com"],
  headers: ["~*^on", "one", "ONE", "two"],
};

const some = (from: readonly string[], maxLength: number) =>
  fc.option(fc.uniqueArray(fc.constantFrom(...from), { maxLength }), { nil: null, freq: 2 });

const members = {
  paths: some([...words.paths, ...words.exactPaths], 3),
  methods: some(words.methods, 2),
  snis: some(words.snis, 1),
  headers: fc.option(
    fc.dictionary(
      fc.constantFrom("X-One", "x-two"),
      fc.uniqueArray(fc.constantFrom(...words.headers), { minLength: 1, maxLength: 2 }),
      { maxKeys: 2 },
    ),
    { nil: null, freq: 2 },
  ),
  regex_priority: fc.integer({ min: 0, max: 2 }),
  created_at: fc.integer({ min: 0, max: 2 }),
};

const withoutPriority = fc.record({ hosts: some(words.hosts, 2), ...members });
/** A route with a priority has at most one host. */
const withPriority = fc.record({
  hosts: some(words.hosts, 1),
  ...members,
  _sluice: fc.record({
    priority: fc.integer({ min: 0, max: 2 }),
    match: fc.option(
      fc.record({
        headers: fc.uniqueArray(
          fc.record({
            name: fc.constantFrom("X-One", "x-two"),
            value: fc.constantFrom("one", "Once", "two, one", "o.*", "on"),
            type: fc.constantFrom("exact" as const, "regex" as const, undefined),
          }),
          { maxLength: 2, selector: ({ name }) => name },
        ),
        query: fc.array(
          fc.record({
            name: fc.constantFrom("a", "b c"),
            value: fc.constantFrom("1", "1 2", "1|2", "", "[0-9]"),
            type: fc.constantFrom("exact" as const, "regex" as const),
          }),
          { maxLength: 1 },
        ),
      }),
      { nil: undefined },
    ),
  }),
});

const tableOf = (route: fc.Arbitrary<Partial<SnapshotRoute>>) =>
  fc.array(route, { maxLength: 14 }).map((all) => all.map((own, index) => routeNamed(`r${index}`, own)));

/** Tables of Kong's routes, of routes of Ingress and Gateway API resources, and of both. */
const routes = fc.oneof(
  tableOf(withoutPriority),
  tableOf(withPriority),
  tableOf(fc.oneof(withoutPriority, withPriority)),
);

const requests = fc
  .record({
    method: fc.constantFrom(...words.methods),
    path: fc.constantFrom(...words.requestPaths),
    scheme: fc.constantFrom("http" as const, "https" as const),
    host: fc.constantFrom(...words.requestHosts),
    serverName: fc.constantFrom("a.com", "b.com", null),
    query: fc.constantFrom("", "?", "?a=1", "?a=1+2&a=1", "?b%20c=2", "?a=%31", "?a&b+c=1"),
    documentPort: fc.constant(null),
    headers: fc.dictionary(
      fc.constantFrom("x-one", "x-two"),
      fc.array(fc.constantFrom("one", "Once", "two"), { maxLength: 2 }),
    ),
  })
  .map(({ headers, ...request }): RoutableRequest => ({ ...request, headerValues: (name) => headers[name] ?? [] }));

/** The route's name, the length of the matched part of the path, and the captured groups by number; null: no match. */
function found(router: Router, request: RoutableRequest): readonly unknown[] | null {
  const { winner, length, captures } = router.match(request);
  return winner && [winner.route.name, length, captures && { ...captures }];
}

function expected(table: readonly SnapshotRoute[], request: RoutableRequest): readonly unknown[] | null {
  const match = naiveMatch(table, request);
  return match && [match.route.name, match.length, match.captures];
}

/** The first route that matches, by the explanation of all routes. */
function explained(router: Router, request: RoutableRequest): string | null {
  const steps = router.explain(request, { size: 1000, disabledService: () => null });
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value.nearest.find(({ mismatch }) => mismatch === null)?.route.name ?? null;
  }
}

const build = (added: readonly SnapshotRoute[]) => Router.empty.with({ removed: [], added });

test("the router chooses the same route as a literal evaluation of the rules, and explains this choice", () => {
  fc.assert(
    fc.property(routes, fc.array(requests, { minLength: 1, maxLength: 6 }), (table, all) => {
      const router = build(table);
      for (const request of all) {
        assert.deepEqual(found(router, request), expected(table, request));
        assert.equal(explained(router, request), naiveMatch(table, request)?.route.name ?? null);
      }
    }),
    { numRuns: randomCases(1000) },
  );
});

test("an incrementally changed router also chooses by the rules, and the previous router is unchanged", () => {
  fc.assert(
    fc.property(routes, routes, fc.array(requests, { minLength: 1, maxLength: 4 }), (before, after, all) => {
      const first = build(before);
      const second = first.with({ removed: before.slice(0, 7), added: after.slice(0, 7) });
      const left = [...before.slice(7), ...after.slice(0, 7)];
      for (const request of all) {
        assert.deepEqual(found(second, request), expected(left, request));
        assert.deepEqual(found(first, request), expected(before, request));
      }
    }),
    { numRuns: randomCases(400) },
  );
});

test("the order of precedence is a total order, in which no two paths of routes are equal", () => {
  const entries = tableOf(fc.oneof(withoutPriority, withPriority)).map((table) =>
    table.flatMap((route, index) => routeEntriesOf(index % 3 === 0 ? { ...route, name: null } : route)),
  );
  fc.assert(
    fc.property(entries, (all) => {
      for (const a of all) {
        for (const b of all) {
          const order = compareEntries(a, b);
          assert.equal(Math.sign(compareEntries(b, a)) + Math.sign(order), 0);
          assert.equal(order === 0, a === b);
          if (order < 0) for (const c of all) assert.ok(compareEntries(b, c) >= 0 || compareEntries(a, c) < 0);
        }
      }
    }),
    { numRuns: randomCases(200) },
  );
});
