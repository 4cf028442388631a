import assert from "node:assert/strict";
import { before, beforeEach, test } from "node:test";
import { output } from "@pulumi/pulumi";
import type { ParameterKind, ResourceKind } from "@sluice/model";
import { openingHoursFacts } from "../../test/plugins/opening-hours.ts";
import { outputValue, type RegisteredResource, registerInto } from "../testing.ts";
import {
  Certificate,
  Consumer,
  GatewayParameters,
  Plugin,
  Route,
  Service,
  type SluiceResource,
  Upstream,
} from "./index.ts";

const metadata = { namespace: "shop" };
const registered: RegisteredResource[] = [];
// Not while the module loads, because other test files of the process register their own mocks then.
before(() => void registerInto(registered));
beforeEach(() => {
  registered.length = 0;
});

/** The inputs of the component's custom resource. */
async function sent({ kind, resourceName }: SluiceResource<ResourceKind | ParameterKind>) {
  await outputValue(resourceName);
  return registered.find(({ type }) => type === `kubernetes:sluice.dev/v1alpha1:${kind}`)?.inputs;
}

test("a resource has its component's name, unless metadata has another name", async () => {
  const named = await sent(new Service("users", { metadata, host: "users.example" }));
  assert.deepEqual(named, {
    apiVersion: "sluice.dev/v1alpha1",
    kind: "Service",
    metadata: { namespace: "shop", name: "users" },
    spec: { host: "users.example" },
  });
  registered.length = 0;
  const other = { ...metadata, name: output("people"), labels: { team: "a" }, annotations: { note: "b" } };
  assert.deepEqual((await sent(new Service("users", { metadata: other, host: "users.example" })))?.metadata, {
    namespace: "shop",
    name: "people",
    labels: { team: "a" },
    annotations: { note: "b" },
  });
});

test("a reference is a component, a name, or an output whose value is a name", async () => {
  const service = new Service("users", { metadata: { ...metadata, name: "people" }, url: "http://users.example" });
  for (const [reference, name] of [
    [service, "people"],
    ["users", "users"],
    [output("users"), "users"],
  ] as const) {
    registered.length = 0;
    const route = await sent(new Route("users", { metadata, service: reference, paths: ["/users"] }));
    assert.deepEqual(route?.spec, { serviceRef: { name }, paths: ["/users"] });
  }
});

test("the targets of a Plugin become its targetRefs, which are unset without targets", async () => {
  const wide = await sent(new Plugin("metrics", { metadata, plugin: "prometheus" }));
  assert.deepEqual(wide?.spec, { plugin: "prometheus" });
  registered.length = 0;
  const narrow = await sent(
    new Plugin("limit", {
      metadata,
      plugin: "rate-limiting",
      consumer: "demo",
      route: "users",
      service: "users",
      config: { minute: output(5), policy: "redis", redis: { host: output("redis.example") } },
      configFrom: [{ path: "redis.password", secretRef: { name: "redis", key: "password" } }],
    }),
  );
  assert.deepEqual(narrow?.spec, {
    plugin: "rate-limiting",
    targetRefs: [
      { kind: "Service", name: "users" },
      { kind: "Route", name: "users" },
      { kind: "Consumer", name: "demo" },
    ],
    config: { minute: 5, policy: "redis", redis: { host: "redis.example" } },
    configFrom: [{ path: "redis.password", secretRef: { name: "redis", key: "password" } }],
  });
});

test("a key is stored only in a labelled Secret, as a Pulumi secret", async () => {
  const consumer = new Consumer("demo", {
    metadata: { ...metadata, name: "customer" },
    username: "demo",
    keys: { laptop: { key: "a-plain-key", ttl: 3600, tags: ["trial"] } },
    keyAuth: [{ secretRef: { name: "older", key: "apikey" } }],
  });
  const resource = await sent(consumer);
  assert.deepEqual(resource?.spec, {
    username: "demo",
    keyAuth: [
      { ttl: 3600, tags: ["trial"], secretRef: { name: "customer-laptop", key: "key" } },
      { secretRef: { name: "older", key: "apikey" } },
    ],
  });
  const holding = registered.filter(({ inputs }) => JSON.stringify(inputs).includes("a-plain-key"));
  assert.deepEqual(holding, [
    {
      type: "kubernetes:core/v1:Secret",
      name: "demo-laptop",
      inputs: {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { namespace: "shop", name: "customer-laptop", labels: { "sluice.dev/credential": "key-auth" } },
        type: "Opaque",
        stringData: { key: "a-plain-key" },
      },
      secrets: ["stringData"],
    },
  ]);
});

test("the argument `plugin` may be the facts of a plugin that does not come with Sluice", async () => {
  const plugin = await sent(new Plugin("hours", { metadata, plugin: openingHoursFacts, config: { from: output(9) } }));
  assert.deepEqual(plugin?.spec, { plugin: "opening-hours", config: { from: 9 } });
});

/** Never called: `npm run check` fails if a line below a directive compiles. */
export function wrongMembers(service: Service, route: Route) {
  new Plugin<"rate-limiting">("typed", { metadata, plugin: "rate-limiting", config: { minute: 60 } });
  // @ts-expect-error rate-limiting has no member minutes
  new Plugin<"rate-limiting">("a", { metadata, plugin: "rate-limiting", config: { minutes: 60 } });
  // @ts-expect-error the plugin's name determines the config, even when it is inferred
  new Plugin("b", { metadata, plugin: "cors", config: { minute: 60 } });
  // @ts-expect-error redis has no member hostname
  new Plugin("c", { metadata, plugin: "rate-limiting", config: { redis: { hostname: "redis" } } });
  // @ts-expect-error minute is a number
  new Plugin("d", { metadata, plugin: "rate-limiting", config: { minute: output("60") } });
  // @ts-expect-error there is no such policy
  new Plugin("e", { metadata, plugin: "rate-limiting", config: { policy: "global" } });
  // @ts-expect-error there is no such plugin
  new Plugin("f", { metadata, plugin: "rate-limit" });
  // @ts-expect-error opening-hours has no member until
  new Plugin("l", { metadata, plugin: openingHoursFacts, config: { until: 20 } });
  // @ts-expect-error from is a number
  new Plugin("m", { metadata, plugin: openingHoursFacts, config: { from: "eight" } });
  // @ts-expect-error a Route is not a Service
  new Route("g", { metadata, service: route, paths: ["/"] });
  // @ts-expect-error members are in camelCase
  new Route("h", { metadata, service, paths: ["/"], strip_path: true });
  // @ts-expect-error serviceRef is not an argument: service sets it
  new Route("i", { metadata, serviceRef: { name: "users" }, paths: ["/"] });
  // @ts-expect-error the namespace is required
  new Service("j", { metadata: {}, url: "http://users.example" });
  // @ts-expect-error the resource has no member for the key itself
  new Consumer("k", { metadata, username: "demo", keyAuth: [{ key: "a-plain-key" }] });
}

test("Upstream and Certificate create custom resources", async () => {
  const upstream = await sent(new Upstream("pool", { metadata, targets: [{ target: "10.0.0.1:80" }] }));
  assert.deepEqual(upstream?.spec, { targets: [{ target: "10.0.0.1:80" }] });
  registered.length = 0;
  const certificate = await sent(
    new Certificate("shop", { metadata, secretRef: { name: "shop-tls" }, snis: [{ name: "a.example" }] }),
  );
  assert.deepEqual(certificate?.spec, { secretRef: { name: "shop-tls" }, snis: [{ name: "a.example" }] });
});

test("the arguments of GatewayParameters are the members of its spec", async () => {
  const deployment = { replicas: output(3), tolerations: [{ key: "edge", operator: "Exists" }] };
  const parameters = await sent(new GatewayParameters("edge", { metadata, nodes: "Dedicated", deployment }));
  assert.deepEqual(parameters?.spec, {
    nodes: "Dedicated",
    deployment: { replicas: 3, tolerations: [{ key: "edge", operator: "Exists" }] },
  });
});
