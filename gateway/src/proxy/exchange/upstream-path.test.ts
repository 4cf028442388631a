import assert from "node:assert/strict";
import { test } from "node:test";
import { upstreamPathTable } from "./testing-upstream-paths.ts";
import { upstreamPath } from "./upstream-path.ts";

type Row = readonly [base: string, route: string, mode: string, path: string, v0: string, v1: string];

const join = ([base, route, mode, path]: Row, handling: "v0" | "v1") =>
  upstreamPath({ base, path, matchedPath: route === "-" ? 0 : route.length, strip: mode === "strip", handling });

/** Rows of Kong's own fixture, unchanged. */
const quoted: readonly Row[] = [
  ["/", "/route", "strip", "/route", "/", "/"],
  ["/", "/route", "strip", "/route/", "/", "/"],
  ["/", "/route", "strip", "/routereq", "/req", "/req"],
  ["/srv", "/rou", "keep", "/roureq", "/srv/roureq", "/srvroureq"],
  ["/srv", "/rou", "strip", "/roureq", "/srv/req", "/srvreq"],
  ["/srv/", "/rou", "strip", "/rou", "/srv", "/srv/"],
  ["/service", "/", "strip", "/", "/service", "/service"],
  ["/service", "/", "keep", "/", "/service", "/service"],
  ["/service", "/route", "strip", "/route/", "/service/", "/service/"],
  ["/service", "/route", "strip", "/routereq", "/service/req", "/servicereq"],
  ["/service", "/route/", "strip", "/route/", "/service/", "/service"],
  ["/service/", "/route", "strip", "/route", "/service", "/service/"],
  ["/service", "-", "strip", "/route/", "/service/route/", "/serviceroute/"],
  ["/service", "-", "keep", "/route/", "/service/route/", "/serviceroute/"],
  ["/service", "/route", "strip", "/route./req", "/service/req", "/servicereq"],
  ["/service", "/route", "strip", "/route../req", "/service/req", "/servicereq"],
];

const table = upstreamPathTable
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/\s+/) as unknown as Row);

test("the table has at least as many rows as Kong's fixture", () => assert.ok(table.length >= 113));

for (const row of [...quoted, ...table]) {
  const [base, route, mode, path, v0, v1] = row;
  test(`service ${base}, route ${route}, ${mode}: ${path} becomes ${v0}, with v1 ${v1}`, () => {
    assert.equal(join(row, "v0"), v0);
    assert.equal(join(row, "v1"), v1);
  });
}

test("no dot segment remains when a prefix ends inside a segment", () => {
  for (const path of ["/route.", "/route..", "/route./", "/route../"]) {
    const joined = upstreamPath({ base: "/s/", path, matchedPath: "/route".length, strip: true, handling: "v0" });
    assert.ok(!joined.split("/").some((segment) => segment === "." || segment === ".."), `${path} -> ${joined}`);
  }
});
