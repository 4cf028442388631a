import assert from "node:assert/strict";
import { test } from "node:test";
import { bucketDifferences, type SnapshotRoute } from "@sluice/model";
import fc from "fast-check";
import { routeNamed } from "../testing-entities.ts";
import { StreamRoutes } from "./stream-routes.ts";

type Protocol = "tls" | "tls_passthrough" | "https";

const hosts = ["a.com", "b.a.com", "*.com", "*.a.com", "*.b.a.com"];

const routes = fc
  .array(
    fc.record({
      protocol: fc.constantFrom<Protocol>("tls", "tls_passthrough", "https"),
      hosts: fc.option(fc.uniqueArray(fc.constantFrom(...hosts), { minLength: 1, maxLength: 2 }), { nil: null }),
      listeners: fc.uniqueArray(fc.constantFrom("one", "two"), { minLength: 1 }),
      created_at: fc.nat({ max: 2 }),
    }),
    { maxLength: 8 },
  )
  .map((all) =>
    all.map(({ protocol, listeners, ...own }, index) =>
      routeNamed(`r${index}`, { ...own, protocols: [protocol], _sluice: { listeners } }),
    ),
  );

const byId = (all: readonly SnapshotRoute[]) => new Map(all.map((route) => [route.id, route]));

/** How specific a host is that matches the server name: the number of its labels; 0: it does not match. */
function weightOf(host: string | null, serverName: string): number {
  if (host === null) return 1;
  if (host === serverName) return 100;
  return host.startsWith("*.") && serverName.endsWith(host.slice(1)) ? 2 + host.split(".").length : 0;
}

function naiveFind(all: readonly SnapshotRoute[], listener: { name: string; protocol: string }, serverName: string) {
  const matches = all
    .filter(
      ({ protocols, _sluice }) => protocols[0] === listener.protocol && _sluice?.listeners?.includes(listener.name),
    )
    .map((route) => ({
      route,
      weight: Math.max(...(route.hosts ?? [null]).map((host) => weightOf(host, serverName))),
    }))
    .filter(({ weight }) => weight > 0);
  matches.sort(
    (one, other) =>
      other.weight - one.weight ||
      one.route.created_at - other.route.created_at ||
      ((one.route.name ?? "") < (other.route.name ?? "") ? -1 : 1),
  );
  return matches[0]?.route.name ?? null;
}

test("a connection gets the oldest route of its listener and protocol with the most specific host, also after changes", () =>
  fc.assert(
    fc.property(routes, routes, (before, after) => {
      const first = StreamRoutes.empty.with(bucketDifferences(new Map(), byId(before)));
      const second = first.with(bucketDifferences(byId(before), byId(after)));
      assert.equal(second.with([]), second);
      for (const [known, all] of [
        [first, before],
        [second, after],
      ] as const)
        for (const name of ["one", "two"])
          for (const protocol of ["tls", "tls_passthrough"] as const)
            for (const serverName of ["a.com", "b.a.com", "c.b.a.com", "com", "x.org"])
              assert.equal(
                known.find({ name, protocol }, serverName)?.name ?? null,
                naiveFind(all, { name, protocol }, serverName),
              );
    }),
  ));
