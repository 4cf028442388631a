/** The candidates of an explanation. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { RouteCandidate } from "@sluice/model";
import { routeNamed } from "../compile/testing-entities.ts";
import { type ExplainRig, startExplainRig } from "./testing-worker.ts";

let rig: ExplainRig;
before(async () => {
  rig = await startExplainRig();
});
after(() => rig[Symbol.asyncDispose]());

/** Route `r` of the service `s`, with these members. */
const serveRoute = (members: object, service: object = {}) =>
  rig.serve({
    services: [{ name: "s", host: "127.0.0.1", port: rig.upstreamPort, ...service }],
    routes: [{ name: "r", service: { name: "s" }, ...members }],
  });

const shown = ({ route, path, result, attribute }: RouteCandidate) => [route.name, path, result, attribute];

const https = { protocols: ["https"] };
const many = Array.from({ length: 12 }, (_, at) => `h${String(at).padStart(2, "0")}.example`);

describe("the reason why a route does not match", () => {
  const rows: readonly (readonly [
    members: object,
    request: object,
    attribute: string,
    reason: string,
    service?: object,
  ])[] = [
    [{ hosts: ["a.com"] }, { url: "http://B.com/" }, "host", "the request's host b.com is not the route's host a.com"],
    [
      { hosts: ["a.com", "*.b.com"] },
      { url: "http://b.com:8000/" },
      "host",
      "the request's host b.com:8000 is not one of the route's hosts a.com, *.b.com",
    ],
    [
      { hosts: ["a.com:8000"] },
      { url: "http://a.com/" },
      "host",
      "the request's host a.com is not the route's host a.com:8000",
    ],
    [
      { hosts: many },
      { url: "http://a.com/" },
      "host",
      `the request's host a.com is not one of the route's hosts ${many.slice(0, 10).join(", ")} and 2 more`,
    ],
    [{ paths: ["/a"] }, { url: "http://a.com" }, "path", "the path / does not begin with /a"],
    [{ paths: ["~/a\\.b$"] }, { url: "http://a.com/a.b/" }, "path", "the path /a.b/ does not match ~/a\\.b$"],
    [{ paths: ["/a"] }, { url: "http://a.com/A?x=/a" }, "path", "the path /A does not begin with /a"],
    [{ paths: ["~/a/[0-9]+$"] }, { url: "http://a.com/a/1/" }, "path", "the path /a/1/ does not match ~/a/[0-9]+$"],
    [
      { paths: ["/a"] },
      { url: `http://a.com/${"b".repeat(300)}` },
      "path",
      `the path /${"b".repeat(199)}… does not begin with /a`,
    ],
    [
      { methods: ["GET", "PUT"] },
      { url: "http://a.com", method: "POST" },
      "method",
      "the method POST is not one of GET, PUT",
    ],
    [{ headers: { "X-Version": ["2"] } }, { url: "http://a.com" }, "header", "the header x-version is missing"],
    [
      { headers: { "x-version": ["2", "3"] } },
      { url: "http://a.com", headers: { "X-Version": "1" } },
      "header",
      "no value of the header x-version is one of 2, 3",
    ],
    [
      { headers: { "x-version": ["~*^2"] } },
      { url: "http://a.com", headers: { "X-Version": ["1", "12"] } },
      "header",
      "no value of the header x-version matches ~*^2",
    ],
    [{ ...https, snis: ["a.com"] }, { url: "https://B.com" }, "sni", "the TLS server name b.com is not a.com"],
    [
      { ...https, snis: ["a.com"] },
      { url: "https://a.com", server_name: "c.com" },
      "sni",
      "the TLS server name c.com is not a.com",
    ],
    [{ ...https, snis: ["a.com"] }, { url: "https://[::1]:8443" }, "sni", "the TLS server name (none) is not a.com"],
    [{ paths: ["/"] }, { url: "http://a.com" }, "service", "the service s is disabled", { enabled: false }],
  ];
  for (const [members, request, attribute, reason, service] of rows)
    test(`is '${reason.length > 100 ? `${reason.slice(0, 100)}…` : reason}'`, async () => {
      serveRoute(members, service);
      const { candidates, other_candidates, route, response } = await rig.explain(request);
      assert.deepEqual([route, response?.status, other_candidates], [null, 404, 0]);
      const [candidate = assert.fail()] = candidates;
      assert.equal(candidate.result, "no match");
      assert.deepEqual([candidate.attribute, candidate.reason], [attribute, reason]);
    });
});

test("routes that match are chosen or lose to the chosen one, and each path of a route is a candidate of its own", async () => {
  rig.serve({
    routes: [
      { name: "wide", paths: ["/", "/a"] },
      { name: "narrow", paths: ["/a/b"], methods: ["GET"] },
      { name: "other", paths: ["/other"] },
    ],
  });
  const { candidates, route } = await rig.explain({ url: "http://x.example/a/b" });
  assert.equal(route?.name, "narrow");
  assert.deepEqual(candidates.map(shown), [
    ["narrow", "/a/b", "chosen", null],
    ["wide", "/a", "lost", null],
    ["wide", "/", "lost", null],
    ["other", "/other", "no match", "path"],
  ]);
});

describe("the reason why a route that matches is not chosen", () => {
  const a = { paths: ["/a"] };
  const priority = (value: number) => ({ _sluice: { priority: value } });
  const rows: readonly (readonly [winner: object, loser: object, reason: string])[] = [
    [{ ...a, methods: ["GET"] }, a, "it has 2 kinds of attributes (paths, methods), this one 1 (paths)"],
    [{ hosts: ["x.example"], methods: ["GET"] }, { ...a, methods: ["GET"] }, "hosts rank before paths"],
    [{ ...a, hosts: ["x.example"] }, { ...a, hosts: ["*.example"] }, "hosts rank before wildcards"],
    [
      { ...a, hosts: ["*.example:80"] },
      { ...a, hosts: ["x.example"] },
      "wildcards with a port rank before other hosts",
    ],
    [{ paths: ["~/a"] }, { paths: ["/a/b"] }, "regular expressions rank before prefixes"],
    [{ paths: ["~/a/b$"] }, { paths: ["/a/b"] }, "regular expressions rank before prefixes"],
    [{ paths: ["~/a/b$"], created_at: 1 }, { paths: ["~/a"], created_at: 2 }, "it was created earlier"],
    [{ headers: { one: ["1"], two: ["2"] } }, { headers: { one: ["1"] } }, "2 headers are more than 1"],
    [
      { paths: ["~/a"], regex_priority: 10 },
      { paths: ["~/a/b"], regex_priority: 5 },
      "regex_priority 10 is more than 5",
    ],
    [{ paths: ["/a/b"] }, a, "the path /a/b is longer"],
    [{ ...a, created_at: 1 }, { ...a, created_at: 2 }, "it was created earlier"],
    [
      { ...a, id: "11111111-1111-4111-8111-111111111111", created_at: 1 },
      { ...a, id: "22222222-1111-4111-8111-111111111111", created_at: 1 },
      "its id sorts first",
    ],
    [
      { paths: ["/"], hosts: ["x.example"], ...priority(0) },
      { ...a, hosts: ["*.example"], ...priority(1) },
      "its host is more specific",
    ],
    [{ paths: ["/"], hosts: ["*.example"], ...priority(0) }, { ...a, ...priority(1) }, "its host is more specific"],
    [{ paths: ["/"], ...priority(12) }, { paths: ["/a/b"], ...priority(7) }, "priority 12 is more than 7"],
    [
      { paths: ["/"], created_at: 1, ...priority(7) },
      { ...a, created_at: 2, ...priority(7) },
      "it was created earlier",
    ],
    [
      { paths: ["/"], ...priority(7), id: "22222222-1111-4111-8111-111111111111", created_at: 1 },
      { ...a, ...priority(7), id: "11111111-1111-4111-8111-111111111111", created_at: 1 },
      "its name sorts first",
    ],
    [
      { paths: ["/"], ...priority(0) },
      { paths: ["~/a"], regex_priority: 5 },
      "routes of Ingress and Gateway API resources rank before other routes",
    ],
    [
      { ...a, hosts: ["x.example"], methods: ["GET"] },
      { ...a, hosts: ["x.example"], methods: ["GET"], headers: { one: ["1"] }, ...priority(9) },
      "it has 3 kinds of attributes (hosts, paths, methods), this one counts as 2 (hosts, paths)",
    ],
    [
      { ...a, hosts: ["x.example"], methods: ["GET"], ...priority(0) },
      a,
      "it counts as 2 kinds of attributes (hosts, paths), this one 1 (paths)",
    ],
    [{ ...a, hosts: ["x.example"], ...priority(0) }, { ...a, hosts: ["*.example"] }, "hosts rank before wildcards"],
    [
      { ...a, hosts: ["*.example:80"] },
      { ...a, hosts: ["x.example"], ...priority(0) },
      "wildcards with a port rank before other hosts",
    ],
  ];
  for (const [winner, loser, reason] of rows)
    test(`is '${reason}'`, async () => {
      rig.serve({
        routes: [
          { name: "second", ...loser },
          { name: "first", ...winner },
        ],
      });
      const { candidates } = await rig.explain({ url: "http://x.example/a/b", headers: { one: "1", two: "2" } });
      assert.deepEqual(
        candidates.map((candidate) => [candidate.route.name, candidate.result]),
        [
          ["first", "chosen"],
          ["second", "lost"],
        ],
      );
      assert.equal(candidates[1]?.reason, `it matches, but the route first takes precedence: ${reason}`);
    });
});

test("only the nearest candidates are listed, the nearest first, and the others are counted", async () => {
  rig.serve({
    routes: [
      { name: "host", hosts: ["other.example"], paths: ["/a"], methods: ["GET"] },
      { name: "path", paths: ["/b"] },
      { name: "method", paths: ["/a"], methods: ["POST"] },
      { name: "header", paths: ["/a"], headers: { "x-one": ["1"] } },
    ],
  });
  const url = "http://x.example/a";
  for (const [size, names, others] of [
    [20, ["header", "method", "path", "host"], 0],
    [3, ["header", "method", "path"], 1],
    [1, ["header"], 3],
  ] as const) {
    const explanation = await rig.explain({ url, size });
    assert.deepEqual(
      explanation.candidates.map(({ route }) => route.name),
      names,
    );
    assert.equal(explanation.other_candidates, others);
  }
});

test("of the routes of other hosts, those that match except for the host come first; a route with a misspelt host comes before routes of the same host with other paths", async () => {
  const others = Array.from({ length: 30 }, (_, at) => ({
    name: `o${at}`,
    hosts: ["api.example"],
    paths: [`/other/${at}`],
  }));
  const tenants = Array.from({ length: 30 }, (_, at) => ({
    name: `t${at}`,
    hosts: [`t${at}.example.org`],
    paths: ["/"],
  }));
  const misspelt = { name: "cart", hosts: ["www.shop.exmaple"], paths: ["/"] };
  const ofAllHosts = { name: "p", paths: ["/other"] };
  rig.serve({ routes: [...others, ...tenants, ofAllHosts, misspelt] });
  const namesOf = async (size: number) => {
    const { candidates } = await rig.explain({ url: "http://www.shop.example/cart", size });
    return candidates.map(({ route }) => route.name ?? "");
  };
  assert.deepEqual(await namesOf(1), ["cart"]);
  const [first, second, ...rest] = await namesOf(20);
  assert.deepEqual([first, second], ["cart", "p"]);
  assert.ok(rest.every((name) => name.startsWith("t")));
});

test("with 10,000 routes, an explanation does not block the worker: other requests get their turn meanwhile", async () => {
  const hosts = Array.from({ length: 100 }, (_, at) => `h${at}.example`);
  const routes = Array.from({ length: 10_000 }, (_, at) => routeNamed(`r${at}`, { paths: [`/r${at}`], hosts }));
  const { snapshot } = rig.worker.runtime();
  rig.worker.swap({ ...snapshot, hash: "01", routes: new Map(routes.map((route) => [route.id, route])) });
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const { candidates, other_candidates } = await rig.explain({ url: "http://a.com/", size: 1000 });
  isDone = true;
  assert.deepEqual([candidates.length, other_candidates], [1000, 9000]);
  assert.ok(turns > 4, `other requests got ${turns} turns`);
});
