import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeCredential,
  fakeExchange,
  fakeScope,
} from "../../../test/plugins/fake-exchange.ts";
import { filledRateLimiting } from "../../../test/plugins/filled-configs.ts";
import { counterNames } from "./identifier.ts";
import type { RateLimitingConfig } from "./schema.ts";

const consumer = fakeConsumer({ id: "c-1" });
const credential = fakeCredential(consumer, "k-1");
const client = "192.0.2.7";

type Variant = readonly [
  config: Partial<RateLimitingConfig>,
  request: string,
  exchange: FakeExchangeOptions,
  identifier: string,
];

const variants: readonly Variant[] = [
  [{ limit_by: "consumer" }, "with a consumer", { consumer, credential }, "consumer=c-1"],
  [{ limit_by: "consumer" }, "with a credential only", { credential }, "consumer=k-1"],
  [{ limit_by: "consumer" }, "without a consumer or credential", {}, `ip=${client}`],
  [{ limit_by: "credential" }, "with a credential", { consumer, credential }, "credential=k-1"],
  [{ limit_by: "credential" }, "of an anonymous consumer", { consumer }, `ip=${client}`],
  [{ limit_by: "ip" }, "with a consumer", { consumer, credential }, `ip=${client}`],
  [{ limit_by: "service" }, "to a service", {}, "service=11111111-1111-4111-8111-111111111111"],
  [{ limit_by: "service" }, "without a service", { service: null }, `ip=${client}`],
  [{ limit_by: "header", header_name: "X-Team" }, "with the header", { headers: { "x-team": "a" } }, "header=a"],
  [{ limit_by: "header", header_name: "X-Team" }, "without the header", {}, `ip=${client}`],
  [
    { limit_by: "header", header_name: "X-Team" },
    "with an empty header",
    { headers: { "x-team": "" } },
    `ip=${client}`,
  ],
  [{ limit_by: "path", path: "/login" }, "to the path", { path: "/login" }, "path=/login"],
  [{ limit_by: "path", path: "/login" }, "to another path", { path: "/login/" }, `ip=${client}`],
];

describe("counterNames", () => {
  for (const [config, request, exchange, identifier] of variants) {
    it(`counts by ${identifier.split("=")[0]} with limit_by ${config.limit_by} for a request ${request}`, () => {
      const nameOf = counterNames({ ...filledRateLimiting, ...config }, fakeScope());
      const asked = fakeExchange({ clientAddress: client, ...exchange });
      assert.deepEqual([nameOf(asked), nameOf(asked)], [`-:-:-:${identifier}`, `-:-:-:${identifier}`]);
    });
  }

  it("stores only the hash of a long header, and distinguishes long headers", () => {
    const config = { ...filledRateLimiting, limit_by: "header", header_name: "x" } as const;
    const [one, other] = ["a", "b"].map((end) =>
      counterNames(config, fakeScope())(fakeExchange({ headers: { x: "x".repeat(10_000) + end } })),
    );
    assert.ok(one !== undefined && one.length < 100);
    assert.notEqual(one, other);
  });
});

describe("the name of a counter", () => {
  it("depends on the plugin's scope, and is unchanged when the plugin is created again", () => {
    const nameIn = (members: Parameters<typeof fakeScope>[0]) =>
      counterNames(filledRateLimiting, fakeScope(members))(fakeExchange());
    const names = [{}, { routeId: "a" }, { serviceId: "a" }, { consumerId: "a" }, { serviceId: "a", routeId: "b" }].map(
      nameIn,
    );
    assert.equal(new Set(names).size, names.length);
    assert.equal(nameIn({ id: "one" }), nameIn({ id: "other" }));
  });
});
