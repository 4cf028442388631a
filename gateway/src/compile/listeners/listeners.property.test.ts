import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bucketDifferences,
  type DocumentListener,
  emptySnapshot,
  type Snapshot,
  type SnapshotRoute,
} from "@sluice/model";
import fc from "fast-check";
import { naiveMatchAt } from "../router/testing-naive.ts";
import type { RoutableRequest } from "../runtime.ts";
import { routeNamed } from "../testing-entities.ts";
import { CompiledListeners } from "./compiled-listeners.ts";

const names = ["a/web/any", "a/web/exact", "a/web/wild", "a/web/deep", "b/web/any", "b/web/tls"];
const hostnames = ["a.com", "b.a.com", "*.com", "*.a.com", "*.b.a.com"];

/** Few listeners on few ports, so that they often share a port; none contradicts another one. */
const listeners = fc
  .uniqueArray(
    fc.record({
      name: fc.constantFrom(...names),
      port: fc.constantFrom(9000, 9443),
      hostname: fc.option(fc.constantFrom(...hostnames), { nil: undefined }),
    }),
    { selector: ({ name }) => name, maxLength: 6 },
  )
  .map((all) =>
    all
      .filter(({ port, hostname }, at) => all.findIndex((one) => one.port === port && one.hostname === hostname) === at)
      .map(({ hostname, ...one }): DocumentListener => {
        const protocol = one.port === 9443 ? "https" : "http";
        return { ...one, protocol, public_port: 80, ...(hostname !== undefined && { hostname }) };
      }),
  );

const routes = fc
  .array(
    fc.record({
      hosts: fc.option(
        fc.constantFrom(...hostnames).map((host) => [host]),
        { nil: null },
      ),
      paths: fc.constantFrom("/", "/a", "~/a$").map((path) => [path]),
      _sluice: fc.record({
        priority: fc.nat({ max: 2 }),
        listeners: fc.option(fc.array(fc.constantFrom(...names, "unknown"), { maxLength: 3 }), { nil: undefined }),
      }),
    }),
    { maxLength: 12 },
  )
  .map((all) => all.map((own, index) => routeNamed(`r${index}`, own)));

const requests = fc.record({
  method: fc.constant("GET"),
  path: fc.constantFrom("/", "/a", "/a/b"),
  scheme: fc.constant("http" as const),
  host: fc.constantFrom("a.com", "a.com:80", "b.a.com", "c.b.a.com", "com", "x.org", "", "[::1]:80"),
  serverName: fc.constantFrom("a.com", "b.a.com", "c.b.a.com", "x.org", null),
  query: fc.constant(""),
  documentPort: fc.constantFrom(9000, 9443, 9999),
  headerValues: fc.constant(() => []),
});

interface Content {
  readonly listeners: readonly DocumentListener[];
  readonly routes: readonly SnapshotRoute[];
}

const contents = fc.record({ listeners, routes });
const sections = (all: readonly DocumentListener[]): Snapshot => ({
  ...emptySnapshot,
  listeners: new Map(all.map((listener) => [listener.name, listener])),
});
const byId = (all: readonly SnapshotRoute[]) => new Map(all.map((route) => [route.id, route]));

function found(compiled: CompiledListeners, request: RoutableRequest): string | null {
  if (compiled.isMisdirected(request)) return "misdirected";
  return compiled.routerFor(request)?.match(request).winner?.route.name ?? null;
}

function expected({ listeners, routes }: Content, request: RoutableRequest): string | null {
  const match = naiveMatchAt(listeners, routes, request);
  return match === null || match === "misdirected" ? match : match.route.name;
}

test("a request on a document's port gets a route of the most specific listener, also after changes", () => {
  fc.assert(
    fc.property(contents, contents, fc.array(requests, { minLength: 1, maxLength: 6 }), (one, two, all) => {
      const [before, after] = [byId(one.routes), byId(two.routes)];
      const first = CompiledListeners.empty.with(sections(one.listeners), bucketDifferences(new Map(), before));
      const second = first.with(sections(two.listeners), bucketDifferences(before, after));
      for (const request of all) {
        assert.equal(found(first, request), expected(one, request));
        assert.equal(found(second, request), expected(two, request));
      }
    }),
    { numRuns: 1500 },
  );
});
