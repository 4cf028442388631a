import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeContext,
  fakeCredential,
  fakeExchange,
  fakeScope,
  pluginsByName,
  ThreadConcurrency,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { concurrencyLimiting } from "./index.ts";

const refusal = { status: 503, message: "Too many requests in progress" };

/** An instance, and the exchanges that it has admitted. */
function startInstance(config: object, concurrency = new ThreadConcurrency(), routeId = "a") {
  const context = fakeContext({ concurrency, scope: fakeScope({ routeId }) });
  const phases = concurrencyLimiting.phases(withConfigDefaults("concurrency-limiting", config), context);
  return {
    begin(options?: FakeExchangeOptions) {
      const exchange = fakeExchange(options);
      const answer = phases.access?.(exchange);
      return { answer, end: () => phases.log?.(exchange) };
    },
  };
}

describe("concurrency-limiting", () => {
  it("admits as many requests at the same time as the limit allows, and further ones when earlier ones end", () => {
    const { begin } = startInstance({ limit: 2 });
    const [first, second, third] = [begin(), begin(), begin()];
    assert.deepEqual([first.answer, second.answer, third.answer], [undefined, undefined, refusal]);
    third.end();
    assert.deepEqual(begin().answer, refusal, "a refused request has held no slot");
    second.end();
    second.end();
    assert.equal(begin().answer, undefined);
    assert.deepEqual(begin().answer, refusal);
  });

  const consumer = fakeConsumer({ id: "c-1" });
  const variants: readonly (readonly [config: object, one: FakeExchangeOptions, other: FakeExchangeOptions])[] = [
    [{}, { clientAddress: "192.0.2.1" }, { clientAddress: "192.0.2.2" }],
    [{ limit_by: "consumer" }, { consumer }, { consumer: fakeConsumer({ id: "c-2" }) }],
    [
      { limit_by: "credential" },
      { consumer, credential: fakeCredential(consumer, "k-1") },
      { consumer, credential: fakeCredential(consumer, "k-2") },
    ],
    [{ limit_by: "header", header_name: "X-Team" }, { headers: { "x-team": "a" } }, { headers: { "x-team": "b" } }],
    [{ limit_by: "path", path: "/login" }, { path: "/login" }, { path: "/other" }],
    [{ limit_by: "service" }, {}, { service: null }],
  ];
  for (const [config, one, other] of variants) {
    it(`counts apart what differs by limit_by: ${JSON.stringify(config)}`, () => {
      const { begin } = startInstance({ limit: 1, ...config });
      const answers = [one, other, one, other].map((request) => begin(request).answer);
      assert.deepEqual(answers, [undefined, undefined, refusal, refusal]);
    });
  }

  it("neither limits nor counts requests of exempt addresses", () => {
    const { begin } = startInstance({ limit: 1, limit_by: "service", exempt: ["10.0.0.0/8", "::1"] });
    for (const clientAddress of ["10.1.2.3", "10.1.2.3", "::1", "::1"])
      assert.equal(begin({ clientAddress }).answer, undefined);
    assert.equal(begin().answer, undefined);
    assert.deepEqual(begin().answer, refusal);
  });

  it("counts requests of several instances together if they have the same scope_name", () => {
    const slots = new ThreadConcurrency();
    const instance = (route: string, scope_name: string | null) =>
      startInstance({ limit: 1, scope_name }, slots, route);
    assert.equal(instance("a", "shop").begin().answer, undefined);
    assert.deepEqual(instance("b", "shop").begin().answer, refusal);
    for (const [route, name] of [
      ["a", "other"],
      ["a", null],
      ["b", null],
    ] as const)
      assert.equal(instance(route, name).begin().answer, undefined, `${route} ${name}`);
  });

  it("answers with the configured status and message", () => {
    const { begin } = startInstance({ limit: 1, error_code: 429, error_message: "Later" });
    begin();
    assert.deepEqual(begin().answer, { status: 429, message: "Later" });
  });

  it("acquires no slot for an exchange that has ended while an earlier plugin waited", () => {
    const { begin } = startInstance({ limit: 1 });
    assert.equal(begin({ timings: { started: 0, ended: 1 } }).answer, undefined);
    assert.equal(begin().answer, undefined);
  });

  // Recorded with nginx 1.22: limit_req is tested before limit_conn.
  it("runs after rate-limiting, so that a request over both limits gets the response of rate-limiting", () => {
    assert.ok(concurrencyLimiting.priority < (pluginsByName.get("rate-limiting")?.priority ?? 0));
  });
});

describe("the config of concurrency-limiting", () => {
  for (const [config, messages] of [
    [{}, ["limit: required field missing"]],
    [{ limit: 0 }, ["limit: value should be between 1 and 1000000"]],
    [
      { limit: 1, limit_by: "header" },
      [
        "header_name: required field missing",
        "@entity: failed conditional validation given value of field 'config.limit_by'",
      ],
    ],
    [{ limit: 1, exempt: ["10.0.0.0/33"] }, ["exempt.0: invalid ip or cidr range: '10.0.0.0/33'"]],
    [{ limit: 1, error_code: 200 }, ["error_code: value should be between 400 and 599"]],
    [{ limit: 1, scope_name: "" }, ["scope_name: length must be at least 1"]],
    [{ limit: 1, scope_name: "shop", exempt: ["10.0.0.0/8"] }, []],
  ] as const) {
    it(`${messages.length === 0 ? "may" : "must not"} be ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("concurrency-limiting", config), messages);
    });
  }
});
