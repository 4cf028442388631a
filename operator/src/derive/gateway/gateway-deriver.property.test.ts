import assert from "node:assert/strict";
import { test } from "node:test";
import { gatewayStatus, listenerSetStatus, routeStatus } from "@sluice/crds";
import fc from "fast-check";
import { watchedKinds } from "../../watch/cluster-state.ts";
import { derivedIn, deriveScene } from "../testing-derive-stage.ts";
import { gatewayApiObjects } from "./testing-gateway-api.ts";
import { backendTlsPolicy, policyStatus } from "./testing-policies.ts";

const {
  gateway,
  listenerSet,
  gatewayRoute,
  coreService,
  certificate,
  grant,
  gatewayClass,
  gatewayParameters,
  namespace,
  plugin,
  attachedPlugin,
} = gatewayApiObjects;

const step = fc.record({
  resource: fc.oneof(
    fc
      .record({
        name: fc.constantFrom("one", "two", "three"),
        className: fc.constantFrom("sluice", "web", "other"),
        hostname: fc.constantFrom(undefined, "*.test", "a.test"),
        from: fc.constantFrom(
          { from: "All" },
          { from: "Same" },
          { from: "Selector", selector: { matchLabels: { a: "b" } } },
          { from: "Selector", selector: { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] } },
        ),
        protocol: fc.constantFrom("HTTP", "HTTPS", "TCP"),
        created: fc.constantFrom("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        allowedListeners: fc.constantFrom(
          { namespaces: { from: "All" } },
          { namespaces: { from: "Selector", selector: { matchLabels: { a: "b" } } } },
          {},
        ),
        parameters: fc.constantFrom(undefined, "own"),
      })
      .map(({ name, ...options }) => gateway(name, options)),
    fc
      .record({
        name: fc.constantFrom("one", "two"),
        namespace: fc.constantFrom("shop", "team"),
        parent: fc.constantFrom("one", "two"),
        listener: fc.constantFrom({}, { hostname: "a.test" }, { port: 81 }, { protocol: "HTTPS", port: 81 }),
      })
      .map(({ name, namespace: of, parent, listener }) => listenerSet(name, of, parent, listener)),
    fc
      .record({
        kind: fc.constantFrom("HTTPRoute", "GRPCRoute"),
        name: fc.constantFrom("a", "b"),
        namespace: fc.constantFrom("shop", "team"),
        parent: fc.constantFrom("one", "two"),
        parentKind: fc.constantFrom("Gateway", "ListenerSet"),
        hostnames: fc.constantFrom([], ["a.test"], ["b.other"]),
        backend: fc.constantFrom({ name: "web" }, { name: "web", namespace: "keys" }, { name: "web", weight: 0 }),
        extension: fc.constantFrom(undefined, undefined, "limit"),
      })
      .map(({ name, ...options }) => gatewayRoute(name, options)),
    fc.constantFrom(
      coreService("web", "shop"),
      coreService("web", "keys"),
      grant("HTTPRoute", "Service"),
      grant("Gateway", "Secret"),
      certificate,
      gatewayClass("web", "sluice.dev/gateway-controller"),
      gatewayClass("web", "example.com/other"),
      gatewayClass("web", "sluice.dev/gateway-controller", "class"),
      namespace("team", { a: "b" }),
      namespace("team", {}),
      plugin({}),
      plugin({ origins: ["https://a.test"] }),
    ),
    fc
      .record({
        name: fc.constantFrom("p", "q"),
        target: fc.constantFrom("HTTPRoute/a", "HTTPRoute/b", "Gateway/one", "Gateway/two", "Ingress/none"),
        plugin: fc.constantFrom("cors", "key-auth"),
        enabled: fc.boolean(),
      })
      .map(({ name, target, ...spec }) => attachedPlugin(name, target, spec)),
    fc
      .record({
        name: fc.constantFrom("p", "q"),
        sectionName: fc.constantFrom(undefined, "http", "none"),
        created: fc.constantFrom("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
      })
      .map(({ name, ...options }) => backendTlsPolicy(name, options)),
  ),
  gone: fc.boolean(),
});

/**
 * Parameters that Gateways and GatewayClasses name. They always exist and are valid: a Gateway whose parameters become
 * invalid keeps the former ones, so that its result depends on the order of changes.
 */
const parameters = fc.record({
  resource: fc
    .record({
      name: fc.constantFrom("own", "class"),
      spec: fc.constantFrom(
        {},
        { nodes: "Dedicated" },
        { nodes: "Dedicated", deployment: { replicas: 3 } },
        { nodes: "Dedicated", autoscaling: { maxReplicas: 4 } },
        { nodes: "Shared", service: { type: "NodePort" } },
      ),
    })
    .map(({ name, spec }) => gatewayParameters(name, spec)),
  gone: fc.constant(false),
});

test("after any changes, the result is that of a stage that reads everything at once", () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(step, parameters), { maxLength: 25 }), (steps) => {
      const { apply, derive, clusterState } = deriveScene();
      apply([gatewayParameters("own", {}), gatewayParameters("class", {})]);
      for (const { resource, gone } of steps) apply([resource], { gone });
      const fresh = deriveScene();
      fresh.apply(watchedKinds.flatMap((kind) => [...clusterState[kind].values()]));
      assert.deepEqual(resultOf(derive), resultOf(fresh.derive));
    }),
  );
});

/** Derived resources, listeners and statuses. */
function resultOf(derive: ReturnType<typeof deriveScene>["derive"]) {
  const { clusterState, gateway } = derive;
  const { gateways, listenerSets, routes, attachedRoutes } = gateway;
  const progress = {
    isProgrammed: () => true,
    failedListeners: new Map<string, string>(),
    addresses: [],
    attachedRoutes,
    now: 0,
  };
  return {
    resources: derivedIn(clusterState),
    listeners: new Map(gateway.listeners()),
    policies: ["p", "q"].map((name) => policyStatus(derive, name)),
    gateways: new Map([...gateways].map(([key, derived]) => [key, gatewayStatus(derived, progress)])),
    parameters: new Map([...gateways].map(([key, { parameters: of }]) => [key, of])),
    listenerSets: new Map([...listenerSets].map(([key, derived]) => [key, listenerSetStatus(derived, progress)])),
    routes: new Map(
      [...routes].map(([key, derived]) => [
        key,
        routeStatus(derived, derived.route, { class: "sluice", problems: [] }),
      ]),
    ),
  };
}
