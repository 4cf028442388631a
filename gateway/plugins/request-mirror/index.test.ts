import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMetrics, fakeContext, fakeExchange, printMetrics } from "../../../test/plugins/fake-exchange.ts";
import { configViolations, withConfigDefaults } from "../../../test/plugins/filled-configs.ts";
import { requestMirror } from "./index.ts";

function start(config: object) {
  const logged: object[] = [];
  const metrics = createMetrics({ compat: false, nodeId: "node-1", version: "0.0.0" });
  let time = 0;
  const log = { info() {}, warn: (facts: object) => void logged.push(facts), error() {} };
  const context = fakeContext({ plugin: "request-mirror", log, metrics, now: () => time });
  const { access } = requestMirror.phases(withConfigDefaults("request-mirror", config), context);
  return {
    logged,
    metrics,
    advance: (milliseconds: number) => {
      time += milliseconds;
    },
    request() {
      const exchange = fakeExchange();
      assert.equal(access?.(exchange), undefined);
      return exchange.mirrored;
    },
  };
}

const always = (service: string) => ({ service, percentage: 100 });

describe("request-mirror", () => {
  it("mirrors a request to every service, with the limits of the config", () => {
    const { request } = start({ mirrors: [always("a"), always("b")], max_body_size: 10, timeout: 20 });
    assert.deepEqual(
      request().map(({ service, maxBody, timeout }) => [service, maxBody, timeout]),
      [
        ["a", 10, 20],
        ["b", 10, 20],
      ],
    );
  });

  for (const [percentage, expected] of [
    [0, 0],
    [12.5, 2],
    [50, 10],
    [100, 20],
  ] as const) {
    it(`mirrors ${expected} of 20 requests with a percentage of ${percentage}`, () => {
      const { request } = start({ mirrors: [{ service: "a", percentage }] });
      assert.equal(Array.from({ length: 20 }, request).flat().length, expected);
    });
  }

  it("counts the copies by service and result", async () => {
    const { request, metrics } = start({ mirrors: [always("a")] });
    for (const failure of [null, { kind: "failed", reason: "x" }, { kind: "dropped", reason: "x" }] as const)
      for (const { onEnd } of request()) onEnd(failure);
    const text = await printMetrics(metrics.tables);
    for (const result of ["sent", "failed", "dropped"])
      assert.match(text, new RegExp(`sluice_request_mirror_copies_total\\{.*service="a",result="${result}".*\\} 1\\n`));
  });

  it("logs why a copy was not sent, at most once in ten seconds for each service", () => {
    const { request, logged, advance } = start({ mirrors: [always("a")] });
    const fail = () => {
      for (const { onEnd } of request()) onEnd({ kind: "failed", reason: "no connection" });
    };
    for (let count = 0; count < 3; count++) fail();
    advance(10_000);
    fail();
    const own = { plugin: "request-mirror", instance: "55555555-5555-4555-8555-555555555555" };
    const line = { service: "a", reason: "no connection", ...own };
    assert.deepEqual(logged, [line, { ...line, unlogged: 2 }]);
  });

  for (const [config, violation] of [
    [{}, "mirrors: required field missing"],
    [{ mirrors: [] }, "mirrors: length must be at least 1"],
    [{ mirrors: [{ percentage: 10 }] }, "mirrors.0.service: required field missing"],
    [{ mirrors: [{ service: "a" }] }, "mirrors.0.percentage: required field missing"],
    [{ mirrors: [{ service: "a", percentage: 101 }] }, "mirrors.0.percentage: value should be between 0 and 100"],
  ] as const) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("request-mirror", config), [violation]);
    });
  }
});
