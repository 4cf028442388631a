import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConnection,
  fakeContext,
  fakeExchange,
} from "../../../test/plugins/fake-exchange.ts";
import { configViolations, filledCorrelationId } from "../../../test/plugins/filled-configs.ts";
import { correlationId } from "./index.ts";
import type { CorrelationIdConfig } from "./schema.ts";

const instance = (config: Partial<CorrelationIdConfig> = {}) =>
  correlationId.phases({ ...filledCorrelationId, ...config }, fakeContext());

/** The ids that the plugin sets in the request to the upstream and in the response; undefined: it sets none. */
function send(phases: ReturnType<typeof instance>, options: FakeExchangeOptions = {}) {
  const exchange = fakeExchange(options);
  assert.equal(phases.access?.(exchange), undefined);
  phases.responseHeaders?.(exchange);
  return {
    forwarded: exchange.upstreamHeaders.get("kong-request-id"),
    echoed: exchange.responseHeaders.get("kong-request-id"),
  };
}

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
const forms = {
  uuid: new RegExp(`^${UUID}$`),
  "uuid#counter": new RegExp(`^${UUID}#\\d+$`),
  tracker: /^127\.0\.0\.1-8000-\d+-\d+-\d+-1700000000\.000$/,
} as const;

describe("correlation-id", () => {
  for (const [generator, form] of Object.entries(forms)) {
    it(`generates a new id for every request, and sends no id to the client by default: ${generator}`, () => {
      const phases = instance({ generator: generator as keyof typeof forms });
      const [first, second] = [send(phases), send(phases)];
      assert.match(first.forwarded ?? "", form);
      assert.match(second.forwarded ?? "", form);
      assert.notEqual(first.forwarded, second.forwarded);
      assert.equal(first.echoed, undefined);
    });
  }

  it("appends consecutive numbers to one UUID with the generator uuid#counter, across instances", () => {
    const [first, second] = [send(instance()).forwarded ?? "", send(instance()).forwarded ?? ""];
    const [[uuid, count], [sameUuid, nextCount]] = [first.split("#"), second.split("#")];
    assert.equal(sameUuid, uuid);
    assert.equal(Number(nextCount), Number(count) + 1);
  });

  it("numbers connections and their requests with the generator tracker", () => {
    const phases = instance({ generator: "tracker" });
    const connection = fakeConnection();
    const ofOne = [send(phases, { connection }), send(phases, { connection })];
    const ofOther = send(phases);
    const numbers = [...ofOne, ofOther].map(({ forwarded = "" }) => forwarded.split("-").slice(3, 5).map(Number));
    const serial = numbers[0]?.[0] ?? 0;
    assert.deepEqual(numbers, [
      [serial, 1],
      [serial, 2],
      [serial + 1, 1],
    ]);
  });

  it("sends the id to the client if echo_downstream is true", () => {
    const { forwarded, echoed } = send(instance({ echo_downstream: true }));
    assert.match(forwarded ?? "", forms["uuid#counter"]);
    assert.equal(echoed, forwarded);
  });

  it("replaces the header that the upstream sent if echo_downstream is true", () => {
    const responseHeaders = { "kong-request-id": "of the upstream" };
    const { forwarded, echoed } = send(instance({ echo_downstream: true }), { responseHeaders });
    assert.equal(echoed, forwarded);
  });

  it("keeps the id that the client sent, and echoes the first of several values", () => {
    for (const value of ["foobar", ["foobar", "other"]]) {
      const { forwarded, echoed } = send(instance({ echo_downstream: true }), {
        headers: { "Kong-Request-ID": value },
      });
      assert.equal(forwarded, undefined);
      assert.equal(echoed, "foobar");
    }
  });

  it("replaces an empty id", () => {
    const { forwarded } = send(instance(), { headers: { "Kong-Request-ID": "" } });
    assert.match(forwarded ?? "", forms["uuid#counter"]);
  });

  it("finds the configured header in any letter case, and sets it if the request does not have it", () => {
    const exchange = fakeExchange({ headers: { "x-trace": "mine" } });
    instance({ header_name: "X-Trace" }).access?.(exchange);
    assert.deepEqual(exchange.upstreamHeaders.all(), {});
    const other = fakeExchange();
    instance({ header_name: "X-Trace" }).access?.(other);
    assert.deepEqual(Object.keys(other.upstreamHeaders.all()), ["x-trace"]);
  });

  it("echoes an id even if another plugin answered before the access phase of correlation-id", () => {
    const phases = instance({ echo_downstream: true, generator: "uuid" });
    const exchange = fakeExchange({ status: 418 });
    phases.responseHeaders?.(exchange);
    assert.match(exchange.responseHeaders.get("kong-request-id") ?? "", forms.uuid);
    const own = fakeExchange({ headers: { "kong-request-id": "my own id" } });
    phases.responseHeaders?.(own);
    assert.equal(own.responseHeaders.get("kong-request-id"), "my own id");
  });

  it("has Kong's defaults", () => {
    const defaults = { header_name: "Kong-Request-ID", generator: "uuid#counter", echo_downstream: false };
    assert.deepEqual(filledCorrelationId, defaults);
  });

  it("refuses header names that affect framing or identity, invalid header names, and unknown generators", () => {
    const framing = "header_name: cannot be 'Content-Length': the gateway itself sets headers for routing and framing";
    assert.deepEqual(configViolations("correlation-id", { header_name: "Content-Length" }), [framing]);
    assert.equal(configViolations("correlation-id", { header_name: "X-Consumer-ID" }).length, 1);
    assert.equal(configViolations("correlation-id", { header_name: "a\r\nb" }).length, 1);
    assert.deepEqual(configViolations("correlation-id", { generator: "x" }), [
      "generator: expected one of: uuid, uuid#counter, tracker",
    ]);
  });
});
