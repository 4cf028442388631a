import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  type FakeExchangeOptions,
  fakeConsumer,
  fakeCredential,
  fakeExchange,
  fakeScope,
} from "../../../../test/plugins/fake-exchange.ts";
import { counterNames, type LimitByConfig } from "./limit-by.ts";

const consumer = fakeConsumer({ id: "c-1" });
const credential = fakeCredential(consumer, "k-1");
const client = "192.0.2.7";
const byConsumer: LimitByConfig = { limit_by: "consumer", header_name: null, path: null, scope_name: null };

type Variant = readonly [
  config: Partial<LimitByConfig>,
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
  [
    { limit_by: "operation" },
    "with a GraphQL operation",
    { shared: { "graphql.operation": "Report" } },
    "operation=Report",
  ],
  [{ limit_by: "operation" }, "without a GraphQL operation", {}, `ip=${client}`],
  [{ limit_by: "path", path: "/login" }, "to another path", { path: "/login/" }, `ip=${client}`],
];

describe("counterNames", () => {
  for (const [config, request, exchange, identifier] of variants) {
    it(`counts by ${identifier.split("=")[0]} with limit_by ${config.limit_by} for a request ${request}`, () => {
      const { nameOf } = counterNames({ ...byConsumer, ...config }, fakeScope());
      const asked = fakeExchange({ clientAddress: client, ...exchange });
      assert.deepEqual([nameOf(asked), nameOf(asked)], [`-:-:-:${identifier}`, `-:-:-:${identifier}`]);
    });
  }

  it("stores only the hash of a long header, and distinguishes long headers", () => {
    const config = { ...byConsumer, limit_by: "header", header_name: "x" } as const;
    const [one, other] = ["a", "b"].map((end) =>
      counterNames(config, fakeScope()).nameOf(fakeExchange({ headers: { x: "x".repeat(10_000) + end } })),
    );
    assert.ok(one !== undefined && one.length < 100);
    assert.notEqual(one, other);
  });
});

describe("the name of a counter", () => {
  it("depends on the plugin's scope, and is unchanged when the plugin is created again", () => {
    const nameIn = (members: Parameters<typeof fakeScope>[0]) =>
      counterNames(byConsumer, fakeScope(members)).nameOf(fakeExchange());
    const names = [{}, { routeId: "a" }, { serviceId: "a" }, { consumerId: "a" }, { serviceId: "a", routeId: "b" }].map(
      nameIn,
    );
    assert.equal(new Set(names).size, names.length);
    assert.equal(nameIn({ id: "one" }), nameIn({ id: "other" }));
  });

  it("depends on scope_name and the route's namespace instead of the plugin's scope, if scope_name is set", () => {
    const named = (scope_name: string, routeId: string, namespace: string | null = null) =>
      counterNames({ ...byConsumer, scope_name }, fakeScope({ routeId })).nameOf(fakeExchange({ namespace }));
    assert.equal(named("shop", "a"), named("shop", "b"));
    assert.equal(named("shop", "a", "team"), named("shop", "b", "team"));
    const apart = [named("shop", "a"), named("other", "a"), named("shop", "a", "team"), named("shop", "a", "other")];
    assert.equal(new Set(apart).size, apart.length);
  });

  it("is one for each namespace if one instance with scope_name serves routes of several namespaces", () => {
    const { nameOf, scopeOf } = counterNames({ ...byConsumer, scope_name: "shop" }, fakeScope());
    const names = [null, "a", "b", "a"].map((namespace) => nameOf(fakeExchange({ namespace })));
    assert.equal(new Set(names).size, 3);
    assert.equal(names[1], names[3]);
    assert.equal(names[1], `${scopeOf(fakeExchange({ namespace: "a" }))}:ip=192.0.2.1`);
  });
});
