/** What an explanation says, and that it changes nothing. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Explanation } from "@sluice/model";
import { waitFor } from "../../../tools/process/index.ts";
import { type ExplainRig, startExplainRig } from "./testing-worker.ts";

let rig: ExplainRig;
before(async () => {
  rig = await startExplainRig({ responseHeaders: { "cache-control": "max-age=60" } });
});
after(() => rig[Symbol.asyncDispose]());

const service = (members: object = {}) => ({ name: "s", host: "127.0.0.1", port: rig.upstreamPort, ...members });
const route = { name: "r", paths: ["/api"], service: { name: "s" } };
const serve = (members: object = {}) => rig.serve({ services: [service()], routes: [route], ...members });

const url = "http://x.example/api/users?page=2";
const send = (init: RequestInit = {}) => fetch(`http://127.0.0.1:${rig.port}/api/users?page=2`, init);

const headersOf = ({ upstream, response }: Explanation) =>
  new Map((upstream ?? response)?.headers.map(([name, value]) => [name.toLowerCase(), value]));

describe("an explanation shows", () => {
  test("the request as the gateway sees it, and as it would be sent", async () => {
    serve({ services: [service({ path: "/v1" })] });
    const explanation = await rig.explain({ url, headers: { "X-One": "1" }, client_address: "::FFFF:10.0.0.1" });
    assert.deepEqual(explanation.request, {
      method: "GET",
      scheme: "http",
      host: "x.example",
      path: "/api/users",
      client_address: "10.0.0.1",
      trusted_ips: [],
      real_ip_header: "x-real-ip",
    });
    const { upstream } = explanation;
    const host = `127.0.0.1:${rig.upstreamPort}`;
    assert.deepEqual(
      [upstream?.method, upstream?.url, upstream?.algorithm, upstream?.target],
      ["GET", `http://${host}/v1/users?page=2`, "round-robin", host],
    );
    assert.deepEqual(upstream?.path_changes, ["/api removed (strip_path of route r)", "/v1 added (path of service s)"]);
    assert.deepEqual(upstream?.targets, [{ address: host, weight: null, healthy: null, refusal: null }]);
    const headers = headersOf(explanation);
    assert.deepEqual([headers.get("x-one"), headers.get("x-forwarded-for")], ["1", "10.0.0.1"]);
    assert.deepEqual([explanation.response, explanation.unknown, explanation.log], [null, null, []]);
  });

  test("the target of consistent hashing, but no target if the choice depends on chance or on other requests", async () => {
    const targets = ["127.0.0.1", "127.0.0.2", "127.0.0.3"].map((host) => ({ target: `${host}:${rig.upstreamPort}` }));
    for (const [members, headers, isKnown] of [
      [{ algorithm: "consistent-hashing", hash_on: "header", hash_on_header: "x-user" }, { "x-user": "ann" }, true],
      [{ algorithm: "consistent-hashing", hash_on: "header", hash_on_header: "x-user" }, {}, false],
      [{ algorithm: "consistent-hashing", hash_on: "cookie", hash_on_cookie: "c" }, {}, false],
      [{ algorithm: "consistent-hashing", hash_on: "cookie", hash_on_cookie: "c" }, { cookie: "c=1" }, true],
      [{ algorithm: "round-robin" }, {}, false],
    ] as const) {
      serve({ services: [service({ host: "up.example" })], upstreams: [{ name: "up.example", ...members, targets }] });
      const { upstream } = await rig.explain({ url, headers });
      assert.equal(upstream?.target !== null, isKnown, JSON.stringify(members));
      assert.equal(upstream?.targets.length, 3);
      if (!isKnown) continue;
      const echoed = (await (await send({ headers })).json()) as { readonly headers: readonly string[] };
      assert.equal(upstream?.target, echoed.headers[echoed.headers.indexOf("Host") + 1]);
    }
  });

  test("whether targets are healthy, if health checks are configured, and which of them the gateway refuses", async () => {
    const targets = [{ target: `127.0.0.1:${rig.upstreamPort}` }, { target: "169.254.169.254:80" }];
    const active = { unhealthy: { interval: 100, tcp_failures: 1 } };
    for (const [healthchecks, healthy] of [
      [{}, null],
      [{ active }, true],
    ] as const) {
      serve({
        services: [service({ host: "up.example" })],
        upstreams: [{ name: "up.example", healthchecks, targets }],
      });
      const { upstream } = await rig.explain({ url });
      assert.deepEqual(
        upstream?.targets.map((target) => [target.address, target.healthy, target.refusal]),
        [
          [`127.0.0.1:${rig.upstreamPort}`, healthy, null],
          [
            "169.254.169.254:80",
            healthy,
            "169.254.169.254:80 is a link-local address, which no entry of SLUICE_ALLOWED_UPSTREAMS allows",
          ],
        ],
      );
    }
  });

  test("counters as they are, without counting the request", async () => {
    const config = { minute: 2, hour: 10, limit_by: "ip" };
    serve({ plugins: [{ name: "rate-limiting", config }] });
    const counts = async () => {
      const { counters, response } = await rig.explain({ url });
      return [
        ...counters.map(({ period, limit, count }) => `${period} ${count}/${limit}`),
        response?.status ?? "admitted",
      ];
    };
    assert.deepEqual(await counts(), ["minute 0/2", "hour 0/10", "admitted"]);
    assert.deepEqual(await counts(), ["minute 0/2", "hour 0/10", "admitted"]);
    for (const count of [1, 2]) {
      assert.equal((await send()).status, 200);
      assert.deepEqual(await counts(), [`minute ${count}/2`, `hour ${count}/10`, count < 2 ? "admitted" : 429]);
    }
    assert.equal((await send()).status, 429);
    assert.equal(headersOf(await rig.explain({ url })).get("retry-after"), "60");
  });

  for (const [config, plugin, expected] of [
    [{ limit_by: "ip" }, {}, "counted by client address 127.0.0.1"],
    [{ limit_by: "consumer" }, {}, "counted by client address 127.0.0.1, because the request has no consumer"],
    [{ limit_by: "service" }, {}, "counted by service: all callers share it"],
    [
      { limit_by: "service" },
      { route: { name: "r" } },
      "counted by service: all callers of the plugin's route share it",
    ],
    [
      { limit_by: "path", path: "/x" },
      {},
      "counted by client address 127.0.0.1, because the request is not to the path /x",
    ],
  ] as const)
    test(`that a counter is ${expected}`, async () => {
      serve({ plugins: [{ name: "rate-limiting", config: { hour: 5, ...config }, ...plugin }] });
      const { counters } = await rig.explain({ url });
      assert.deepEqual(
        counters.map(({ counted_by, per_node }) => [counted_by, per_node]),
        [[expected, true]],
      );
    });

  test("buckets and requests in progress as they are, without a change", async () => {
    const config = { hour: 1, algorithm: "bucket", burst: { hour: 1 }, limit_by: "ip" };
    serve({
      plugins: [
        { name: "rate-limiting", config },
        { name: "concurrency-limiting", config: { limit: 1 } },
      ],
    });
    const level = async () => {
      const { counters, response } = await rig.explain({ url });
      return [
        ...counters.map(({ period, limit, count }) => `${period} ${count}/${limit}`),
        response?.status ?? "admitted",
      ];
    };
    for (const count of [0, 1, 2]) {
      const expected = [`hour ${count}/2`, count < 2 ? "admitted" : 429];
      assert.deepEqual(await level(), expected);
      assert.deepEqual(await level(), expected);
      assert.equal((await send()).status, count < 2 ? 200 : 429);
    }
    serve({ plugins: [{ name: "concurrency-limiting", config: { limit: 1 } }] });
    const held = send({ headers: { "x-delay": "500" } });
    await waitFor(async () => (await rig.explain({ url })).response?.status === 503, {
      what: "the request in progress",
    });
    assert.equal((await held).status, 200);
    assert.equal((await rig.explain({ url })).response, null);
  });

  test("a response from the cache, whose entries stay as they are", async () => {
    const config = { strategy: "memory", content_type: ["application/json"] };
    serve({ plugins: [{ name: "proxy-cache", config }] });
    const stateOf = async () =>
      headersOf(await rig.explain({ url, headers: { host: `127.0.0.1:${rig.port}` } })).get("x-cache-status");
    assert.equal(await stateOf(), undefined);
    assert.equal((await send()).headers.get("x-cache-status"), "Miss");
    assert.equal(await stateOf(), "Hit");
    assert.equal((await send()).headers.get("x-cache-status"), "Hit");
    rig.clock += 301_000;
    assert.equal(await stateOf(), undefined);
    assert.equal((await send()).headers.get("x-cache-status"), "Miss");
  });

  test("HTTP/2 requests as the gateway would answer them", async () => {
    serve({ plugins: [{ name: "request-termination", config: { status_code: 418, echo: true } }] });
    const described = { url, http_version: "2", method: "POST", body: "{}", headers: { "X-One": ["1", "2"] } };
    assert.equal((await rig.explain(described)).response?.status, 418);
    const refused = await rig.explain({ ...described, headers: { connection: "close" } });
    assert.deepEqual([refused.request, refused.response?.status], [null, 400]);
  });
});

describe("a response of the gateway itself is explained:", () => {
  const noTarget = { services: [{ name: "s", host: "up.example" }], upstreams: [{ name: "up.example", targets: [] }] };
  const closed = [{ name: "rate-limiting", config: { minute: 5 }, _sluice: { unavailable: "the limit is invalid" } }];
  const rows: readonly (readonly [what: string, document: object, request: object, status: number, log?: RegExp])[] = [
    ["404 without a route", {}, { url: "http://x.example/other" }, 404],
    ["426 for a route that needs TLS", { routes: [{ ...route, protocols: ["https"] }] }, {}, 426],
    ["503 for a route without a service", { routes: [{ name: "r", paths: ["/api"] }] }, {}, 503],
    [
      "503 for a closed route, with the reason",
      { plugins: closed },
      {},
      503,
      /^a request was answered 503: the limit is invalid$/,
    ],
    ["503 without a target", noTarget, {}, 503, /^the upstream failed: no target accepts requests$/],
    [
      "503 for an address that the gateway refuses",
      { services: [{ name: "s", host: "169.254.169.254" }] },
      {},
      503,
      /^the upstream failed: 169\.254\.169\.254:80 is a link-local address, which no entry of SLUICE_ALLOWED_UPSTREAMS allows$/,
    ],
    ["400 for two lengths", {}, { method: "POST", headers: { "content-length": ["1", "2"] } }, 400],
    [
      "400 for length and chunks",
      {},
      { method: "POST", headers: { "content-length": "1", "transfer-encoding": "chunked" } },
      400,
    ],
    ["400 for a bad Host", {}, { headers: { host: "a b" } }, 400],
    ["400 for two hosts", {}, { headers: { host: ["a", "b"] } }, 400],
    ["400 for a bad host in the URL", {}, { url: "http://a:99999/api" }, 400],
    ["400 for user information", {}, { url: "http://u:p@x.example/api" }, 400],
    ["400 for a broken escape", {}, { url: "http://x.example/api/%zz" }, 400],
    ["414 for a long URL", {}, { url: `http://x/${"a".repeat(8180)}` }, 414],
    [
      "431 for long headers",
      {},
      { headers: { "x-long": ["a".repeat(8000), "a".repeat(8000), "a".repeat(8000)] } },
      431,
    ],
    ["417 for an unknown expectation", {}, { headers: { expect: "something" } }, 417],
    ["501 for an unknown coding", {}, { method: "POST", headers: { "transfer-encoding": "gzip, chunked" } }, 501],
  ];
  for (const [what, document, request, status, log] of rows)
    test(what, async () => {
      serve(document);
      const explanation = await rig.explain({ url, ...request });
      assert.equal(explanation.response?.status, status);
      assert.equal(explanation.upstream, null);
      if (log) assert.match(explanation.log.join("\n"), log);
      assert.equal(rig.worker.runtime().exchanges.open, 0);
    });

  test("413 while the body arrives in chunks", async () => {
    const config = { allowed_payload_size: 4, size_unit: "bytes" };
    serve({ plugins: [{ name: "request-size-limiting", config }] });
    const headers = { "Transfer-Encoding": "chunked" };
    for (const [body, status] of [
      ["1234", undefined],
      ["12345", 413],
    ] as const)
      assert.equal((await rig.explain({ url, method: "POST", body, headers })).response?.status, status);
  });
});

describe("secrets are hidden:", () => {
  test("values that services and plugins add to headers and to the query", async () => {
    const add = { headers: ["X-Secret:hush", "X-One:hush"], querystring: ["key:hush"] };
    serve({
      services: [service({ upstream_headers: [{ name: "X-Gate", value: "hush" }] })],
      plugins: [{ name: "request-transformer", config: { add, append: { headers: ["X-Two:hush"] } } }],
    });
    const headers = { "X-Two": "2", "X-Three": "3", "x-gate": "hush" };
    const explanation = await rig.explain({ url, headers });
    const sent = headersOf(explanation);
    for (const name of ["x-secret", "x-one", "x-gate", "x-two"]) assert.equal(sent.get(name), "(hidden)", name);
    assert.equal(sent.get("x-three"), "3");
    assert.match(explanation.upstream?.url ?? "", /\/users\?page=2&key=\(hidden\)$/);
    assert.doesNotMatch(JSON.stringify(explanation), /hush/);
  });

  test("cookies of responses, such as those of sessions", async () => {
    const plugins = [
      { name: "key-auth" },
      { name: "session", config: { secret: "the-secret-of-the-sessions-is-long" } },
      { name: "request-termination", config: { status_code: 200, message: "done" } },
    ];
    serve({ plugins, consumers: [{ username: "ann", keyauth_credentials: [{ key: "ann-key" }] }] });
    const explanation = await rig.explain({ url, headers: { apikey: "ann-key" } });
    assert.equal(headersOf(explanation).get("set-cookie"), "(hidden)");
  });

  test("the consumer's identity is shown", async () => {
    serve({
      plugins: [{ name: "key-auth" }],
      consumers: [{ username: "ann", keyauth_credentials: [{ key: "ann-key" }] }],
    });
    const explanation = await rig.explain({ url, headers: { apikey: "ann-key" } });
    assert.equal(headersOf(explanation).get("x-consumer-username"), "ann");
  });
});

test("a node without this endpoint answers null", async () => {
  assert.equal(await rig.worker.askPlugin("node", { method: "GET", path: ["other"], query: {} }), null);
});
