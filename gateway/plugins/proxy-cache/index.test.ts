import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DirectResponse, Exchange } from "@sluice/plugin-sdk";
import { fakeContext, fakeExchange } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { directivesOf, secondsIn } from "./directives.ts";
import { proxyCache } from "./index.ts";
import { createMediaTypeMatch } from "./media-types.ts";
import { entryCodec } from "./stored-response.ts";

const START = 1_700_000_000_000;
const inSeconds = (seconds: number) => new Date(START + seconds * 1000).toUTCString();

type Headers = Readonly<Record<string, string>>;

/** An instance with a clock, and an upstream that answers "body". */
function startInstance(config: object) {
  let time = START;
  const phases = proxyCache.phases(
    withConfigDefaults("proxy-cache", { strategy: "memory", ...config }),
    fakeContext({ now: () => time }),
  );
  return {
    phases,
    advance(seconds: number) {
      time += seconds * 1000;
    },
    async serve(request: Headers = {}, response: Headers = {}, status = 200) {
      const exchange = fakeExchange({
        headers: request,
        responseHeaders: { "Content-Type": "text/plain", ...response },
        status,
      });
      const answer: DirectResponse | undefined = await phases.access?.(exchange);
      if (answer === undefined) forward(exchange);
      return { status: exchange.responseHeaders.get("x-cache-status"), answer, headers: exchange.responseHeaders };
    },
  };

  function forward(exchange: Exchange): void {
    phases.responseHeaders?.(exchange);
    const filter = phases.responseBody?.(exchange);
    if (!filter || !("observe" in filter)) return;
    filter.observe(Buffer.from("body"));
    filter.complete();
  }
}

/** A request with the headers `first`, and `later` seconds after it a request with the headers `second`. */
interface Row {
  readonly what: string;
  readonly config?: object;
  readonly response?: Headers;
  readonly first?: Headers;
  readonly later?: number;
  readonly second?: Headers;
  /** X-Cache-Status of both responses. */
  readonly statuses: readonly [string, string];
  readonly status?: number;
}

const control = { cache_control: true };
const hit = ["Miss", "Hit"] as const;
const never = ["Bypass", "Bypass"] as const;
const cached = { "Cache-Control": "max-age=10" };

const rows: readonly Row[] = [
  { what: "uses a response until cache_ttl", config: { cache_ttl: 10 }, later: 9, statuses: hit },
  {
    what: "no longer uses a response after cache_ttl",
    config: { cache_ttl: 10 },
    later: 11,
    statuses: ["Miss", "Miss"],
  },
  {
    what: "refreshes a response that storage_ttl keeps longer than cache_ttl",
    config: { cache_ttl: 10, storage_ttl: 100 },
    later: 11,
    statuses: ["Miss", "Refresh"],
  },
  { what: "stores nothing with storage_ttl 0", config: { storage_ttl: 0 }, statuses: ["Miss", "Miss"] },
  { what: "ignores Cache-Control by default", response: { "Cache-Control": "no-store" }, statuses: hit },
  { what: "caches a response with a configured status", response: {}, status: 404, statuses: hit },
  { what: "does not cache a response with a status that is not configured", status: 500, statuses: never },
  {
    what: "does not cache a response of a media type that is not configured",
    response: { "Content-Type": "text/html" },
    statuses: never,
  },
  { what: "caches nothing for a method that is not configured", config: { request_method: ["POST"] }, statuses: never },
  { what: "with cache_control, caches no response without a lifetime", config: control, statuses: never },
  { what: "follows max-age", config: control, response: cached, later: 9, statuses: hit },
  {
    what: "follows a max-age of more than ten digits",
    config: control,
    response: { "Cache-Control": "max-age=99999999999" },
    later: 9,
    statuses: hit,
  },
  {
    what: "no longer uses a response after max-age",
    config: control,
    response: cached,
    later: 11,
    statuses: ["Miss", "Miss"],
  },
  {
    what: "prefers s-maxage to max-age",
    config: control,
    response: { "Cache-Control": "max-age=10, s-maxage=20" },
    later: 15,
    statuses: hit,
  },
  { what: "follows Expires", config: control, response: { Expires: inSeconds(10) }, later: 9, statuses: hit },
  {
    what: "does not cache a response with an invalid Expires",
    config: control,
    response: { Expires: "0" },
    statuses: never,
  },
  {
    what: "counts the lifetime from Date to Expires",
    config: control,
    response: { Date: inSeconds(5), Expires: inSeconds(10) },
    later: 6,
    statuses: ["Miss", "Miss"],
  },
  {
    what: "subtracts from the lifetime of a response the Age with which it arrived",
    config: control,
    response: { ...cached, Age: "6" },
    later: 5,
    statuses: ["Miss", "Miss"],
  },
  {
    what: "does not cache a response whose Age equals its lifetime",
    config: control,
    response: { ...cached, Age: "10" },
    statuses: never,
  },
  ...["no-store", "no-cache", "private", 'private="X-A"', "max-age=0", "max-age=x"].map((directive) => ({
    what: `does not cache a response with ${directive}`,
    config: control,
    response: { "Cache-Control": directive },
    statuses: never,
  })),
  {
    what: "does not find directives inside of quoted strings",
    config: control,
    response: { "Cache-Control": 'max-age=10, x="a, no-store"' },
    statuses: hit,
  },
  ...["no-store", "no-cache"].map((directive) => ({
    what: `bypasses the cache for a request with ${directive}`,
    config: control,
    response: cached,
    second: { "cache-control": directive },
    statuses: ["Miss", "Bypass"] as const,
  })),
  {
    what: "refreshes a response that is older than the request's max-age",
    config: control,
    response: cached,
    later: 5,
    second: { "cache-control": "max-age=4" },
    statuses: ["Miss", "Refresh"],
  },
  {
    what: "refreshes a response that will not stay fresh for min-fresh",
    config: control,
    response: cached,
    later: 5,
    second: { "cache-control": "min-fresh=6" },
    statuses: ["Miss", "Refresh"],
  },
  {
    what: "refreshes a stale response",
    config: { ...control, storage_ttl: 100 },
    response: cached,
    later: 11,
    statuses: ["Miss", "Refresh"],
  },
  ...["max-stale", "max-stale=5"].map((directive) => ({
    what: `uses a stale response for ${directive}`,
    config: { ...control, storage_ttl: 100 },
    response: cached,
    later: 14,
    second: { "cache-control": directive },
    statuses: hit,
  })),
  {
    what: "refreshes a response that is too stale for max-stale",
    config: { ...control, storage_ttl: 100 },
    response: cached,
    later: 16,
    second: { "cache-control": "max-stale=5" },
    statuses: ["Miss", "Refresh"],
  },
  ...["must-revalidate", "proxy-revalidate", "s-maxage=10"].map((directive) => ({
    what: `never uses a stale response with ${directive}`,
    config: { ...control, storage_ttl: 100 },
    response: { "Cache-Control": `max-age=10, ${directive}` },
    later: 11,
    second: { "cache-control": "max-stale" },
    statuses: ["Miss", "Refresh"] as const,
  })),
  {
    what: "does not store the response to a request with Authorization",
    config: control,
    response: cached,
    first: { authorization: "Bearer a" },
    statuses: ["Bypass", "Miss"],
  },
  ...["public", "s-maxage=10", "must-revalidate"].map((directive) => ({
    what: `stores a response with ${directive} even if the request has Authorization`,
    config: control,
    response: { "Cache-Control": `max-age=10, ${directive}` },
    first: { authorization: "Bearer a" },
    statuses: hit,
  })),
];

describe("proxy-cache", () => {
  for (const { what, config = {}, response, first, later = 0, second, statuses, status } of rows) {
    it(what, async () => {
      const { serve, advance } = startInstance(config);
      const before = await serve(first, response, status);
      advance(later);
      const after = await serve(second, response, status);
      assert.deepEqual([before.status, after.status], statuses);
    });
  }

  it("answers only-if-cached with 504 unless a usable response is stored", async () => {
    const { serve, advance } = startInstance({ ...control, storage_ttl: 100 });
    const only = { "cache-control": "only-if-cached" };
    assert.equal((await serve(only)).answer?.status, 504);
    await serve({}, cached);
    assert.equal((await serve(only)).answer?.status, 200);
    advance(11);
    assert.equal((await serve(only)).answer?.status, 504);
  });

  it("sends the age in seconds, including the Age with which the response arrived", async () => {
    const { serve, advance } = startInstance(control);
    await serve({}, { ...cached, Age: "3" });
    advance(2.5);
    assert.equal((await serve()).headers.get("age"), "5");
  });

  it("sends none of its headers if response_headers disables them", async () => {
    const hidden = { age: false, "X-Cache-Status": false, "X-Cache-Key": false };
    const { serve } = startInstance({ response_headers: hidden });
    const first = await serve();
    const second = await serve();
    assert.equal(first.answer, undefined);
    assert.deepEqual(second.answer?.body, Buffer.from("body"));
    for (const { headers } of [first, second]) {
      for (const name of ["age", "x-cache-status", "x-cache-key"]) assert.equal(headers.get(name), undefined);
    }
  });

  it("does not store headers that count the remaining requests of a client", async () => {
    const { serve } = startInstance({});
    await serve({}, { "X-RateLimit-Remaining-Minute": "4", "X-RateLimit-Limit-Minute": "5", Date: inSeconds(0) });
    const { answer } = await serve();
    assert.deepEqual(answer?.keptHeaders, [
      ...["Content-Type", "text/plain", "X-RateLimit-Limit-Minute", "5", "Date", inSeconds(0)],
    ]);
  });

  it("shows and removes cached responses through the admin API", async () => {
    const { serve, phases, advance } = startInstance({});
    const ask = (method: "GET" | "DELETE" | "POST", ...path: string[]) =>
      phases.endpoint?.({ method, path, query: {} });
    const key = (await serve({}, { Date: inSeconds(0) })).headers.get("x-cache-key") ?? "";
    advance(1);
    assert.deepEqual(await ask("GET", "caches", key), {
      status: 200,
      body: {
        status: 200,
        headers: { "content-type": "text/plain", date: inSeconds(0) },
        body: "body",
        body_len: 4,
        timestamp: START / 1000,
        ttl: 300,
        version: 1,
      },
      isShared: false,
    });
    const statuses = [
      (await ask("POST", "caches", key))?.status,
      (await ask("DELETE", "caches", key))?.status,
      (await ask("DELETE", "caches", key))?.status,
      (await ask("GET", "caches", key))?.status,
    ];
    assert.deepEqual(statuses, [405, 204, 404, 404]);
    await serve();
    assert.equal((await ask("DELETE", "caches"))?.status, 204);
    assert.equal((await serve()).status, "Miss");
    assert.deepEqual([await ask("GET", "other"), await ask("GET", "caches", key, "more")], [undefined, undefined]);
  });

  for (const [config, violation] of [
    [{}, "strategy: required field missing"],
    [{ strategy: "disk" }, "strategy: expected one of: memory, redis"],
    [{ strategy: "memory", response_code: [99] }, "response_code.0: value should be between 100 and 900"],
    [{ strategy: "memory", response_code: [] }, "response_code: length must be at least 1"],
    [{ strategy: "memory", response_code: [1.5] }, "response_code.0: expected an integer"],
    [
      { strategy: "memory", request_method: ["DELETE"] },
      "request_method.0: expected one of: HEAD, GET, POST, PATCH, PUT",
    ],
    [{ strategy: "memory", cache_ttl: -1 }, "cache_ttl: value must be greater than 0"],
    [{ strategy: "redis" }, "redis.host: required field missing"],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      const found = configViolations("proxy-cache", config);
      assert.ok(found.includes(violation), found.join("; "));
    });
  }
});

describe("the media types of proxy-cache", () => {
  for (const [configured, given, expected] of [
    ["text/plain", "text/plain", true],
    ["text/plain", "Text/Plain ", true],
    ["text/plain", "text/html", false],
    ["application/json", "application/json; charset=utf-8", false],
    ["application/json; charset=UTF-8", "application/json;charset=UTF-8", true],
    ["application/json; charset=UTF-8", 'application/json; Charset="UTF-8"', true],
    ["application/json; charset=UTF-8", "application/json; charset=latin1", false],
    ["application/*", "application/xml", true],
    ["*/text", "a/text", true],
    ["*/*", "image/png", true],
    ["*", "image/png", true],
    ["text/plain", "text/plain, text/html", false],
    ["text/plain", "", false],
    ["text/plain", 'text/plain; a="', false],
  ] as const) {
    it(`${configured} ${expected ? "includes" : "does not include"} ${JSON.stringify(given)}`, () => {
      assert.equal(createMediaTypeMatch([configured])(given), expected);
    });
  }
});

describe("the directives of Cache-Control", () => {
  it("count with the smallest number if they are repeated", () => {
    assert.equal(secondsIn(directivesOf(["max-age=20", "Max-Age=10, max-age=30"]), "max-age"), 10);
  });

  it("are read in linear time", () => {
    const started = performance.now();
    directivesOf([`${'a="'.repeat(20_000)}${",".repeat(20_000)}`]);
    assert.ok(performance.now() - started < 1000);
  });
});

describe("an entry in Redis", () => {
  const facts = { status: 200, timestamp: 1, ttl: 2, mustRevalidate: true, purges: "1:0", names: null };

  it("is the same after it has been written and read", () => {
    for (const entry of [{ ...facts, headers: ["A", "1"], body: Buffer.from([0, 255]) }, { vary: ["accept" as const] }])
      assert.deepEqual(entryCodec.decode(entryCodec.encode(entry)), entry);
  });

  for (const [what, members] of [
    ["a line end in a value", { headers: ["A", "1\r\nB: 2"] }],
    ["a line end in a name", { headers: ["A: 1\r\nB", "2"] }],
    ["a name without a value", { headers: ["A"] }],
    ["an interim status", { status: 100 }],
    ["a status that cannot be sent", { status: 600 }],
  ] as const) {
    it(`is not found if it has ${what}`, () => {
      const entry = { ...facts, headers: [], body: Buffer.from("b") };
      assert.equal(entryCodec.decode(entryCodec.encode({ ...entry, ...members })), undefined);
    });
  }

  for (const bytes of ["", "ab", "\xff\xff\xff\xff", "\0\0\0\x02[]", "\0\0\0\x02{}", "\0\0\0\x03{x}"]) {
    it(`is not found if it is ${JSON.stringify(bytes)}`, () => {
      assert.equal(entryCodec.decode(Buffer.from(bytes, "latin1")), undefined);
    });
  }
});
