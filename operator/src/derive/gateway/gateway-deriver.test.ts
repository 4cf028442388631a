import assert from "node:assert/strict";
import { describe, it, test } from "node:test";
import type { DerivedResource, Resource } from "@sluice/crds";
import { deriveScene } from "../testing-derive-stage.ts";
import { gatewayApiObjects } from "./testing-gateway-api.ts";

const { resource, gateway, gatewayRoute, coreService, certificate, grant, namespace, plugin, attachedPlugin } =
  gatewayApiObjects;
const { gatewayClass, gatewayParameters } = gatewayApiObjects;

/** The Routes to which the Plugins with the name are attached. */
const routesWith = ({ clusterState }: ReturnType<typeof deriveScene>["derive"], name: string) =>
  [...clusterState.Plugin.values()]
    .filter(({ metadata }) => metadata.name === name || metadata.name.startsWith(`plugin~${name}~`))
    .map(({ spec }) => (Object(spec).targetRefs as readonly { readonly name: string }[])[0]?.name)
    .sort();

test("a Plugin acts on all routes of its target, until another takes precedence or the target is gone", () => {
  const { apply, derive } = deriveScene();
  apply([gateway("one"), gatewayRoute("a"), gatewayRoute("b"), attachedPlugin("p", "Gateway/one")]);
  const [a, b] = ["http-route~a~000~000~_", "http-route~b~000~000~_"];
  assert.deepEqual(routesWith(derive, "p"), [a, b]);
  apply([attachedPlugin("q", "HTTPRoute/a")]);
  assert.deepEqual([routesWith(derive, "p"), routesWith(derive, "q")], [[b], [a]]);
  apply([plugin({}), gatewayRoute("a", { extension: "limit" })]);
  assert.deepEqual([routesWith(derive, "p"), routesWith(derive, "q")], [[b], ["a"]]);
  apply([gatewayRoute("a")]);
  apply([attachedPlugin("q", "HTTPRoute/a")], { gone: true });
  assert.deepEqual([routesWith(derive, "p"), routesWith(derive, "q")], [[a, b], []]);
  apply([gatewayRoute("a"), gatewayRoute("b")], { gone: true });
  assert.deepEqual(routesWith(derive, "p"), ["one"]);
});

test("a Plugin of another class takes no precedence", () => {
  const { apply, derive } = deriveScene();
  apply([gateway("one"), gatewayRoute("a"), attachedPlugin("p", "Gateway/one")]);
  apply([attachedPlugin("q", "HTTPRoute/a", { class: "other" })]);
  assert.deepEqual([routesWith(derive, "p"), routesWith(derive, "q")], [["http-route~a~000~000~_"], ["a"]]);
});

test("a Plugin is attached to the route whose long name is that of its target", () => {
  const { apply, derive } = deriveScene();
  const [short, long] = ["a".repeat(168), "a".repeat(200)];
  apply([gateway("one"), gatewayRoute(short), gatewayRoute(long), attachedPlugin("p", `HTTPRoute/${long}`)]);
  const [route, ...others] = routesWith(derive, "p");
  const { derived } = derive.clusterState.Route.get(`shop/${route}`) as DerivedResource;
  assert.deepEqual([derived.source.name, others], [long, []]);
});

test("a Plugin that takes the place of another is reported as changed, also together with a status write", () => {
  const { apply, clusterState, derive, emit, reportedAsMeaningful } = deriveScene();
  apply([gateway("one"), gatewayRoute("a"), attachedPlugin("p", "Gateway/one"), attachedPlugin("q", "HTTPRoute/a")]);
  clusterState.Plugin.delete("shop/q");
  emit([
    { kind: "Plugin", key: "shop/q", isMeaningful: true },
    { kind: "Plugin", key: "shop/p", isMeaningful: false },
  ]);
  assert.deepEqual(routesWith(derive, "p"), ["http-route~a~000~000~_"]);
  assert.ok(reportedAsMeaningful().includes("Plugin/shop/p"));
});

test("a disabled Plugin without targets is left out, because only filters of routes use it", () => {
  const { apply, derive } = deriveScene();
  apply([plugin({})]);
  assert.equal(derive.clusterState.Plugin.size, 0);
});

test("a status write of an attached Plugin keeps its Route", () => {
  const { apply, derive } = deriveScene();
  apply([gateway("one"), gatewayRoute("a"), attachedPlugin("p", "HTTPRoute/a")]);
  apply([{ ...attachedPlugin("p", "HTTPRoute/a"), status: { conditions: [] } }], { isMeaningful: false });
  assert.deepEqual(routesWith(derive, "p"), ["http-route~a~000~000~_"]);
  assert.deepEqual(derive.clusterState.Plugin.get("shop/p")?.status, { conditions: [] });
});

test("a route is counted at the listener while it is attached", () => {
  const { apply, derive } = deriveScene();
  apply([gateway("one"), gatewayRoute("a"), gatewayRoute("b")]);
  const count = () => derive.gateway.attachedRoutes("shop/one/web");
  assert.equal(count(), 2);
  apply([gatewayRoute("b", { parent: "two" })]);
  assert.equal(count(), 1);
  apply([gatewayRoute("a")], { gone: true });
  assert.equal(count(), 0);
});

test("only what depends on a change is reported as changed", () => {
  const { apply, reported } = deriveScene();
  apply([
    gateway("one"),
    gatewayRoute("a"),
    gatewayRoute("b", { backend: { name: "other" } }),
    coreService("web", "shop"),
  ]);
  apply([coreService("other", "shop")]);
  assert.deepEqual(reported(), [
    "CoreService/shop/other",
    "HTTPRoute/shop/b",
    "Plugin/shop/http-route~b~000~000~_~request-termination",
    "Route/shop/http-route~b~000~000~_",
    "Service/shop/http-route~b~000",
  ]);
});

test("a selector of namespaces matches no namespace that is unknown", () => {
  const { apply, derive } = deriveScene();
  const selector = { matchExpressions: [{ key: "a", operator: "DoesNotExist" }] };
  const accepted = () => derive.gateway.routes.get("HTTPRoute/team/a")?.parents[0]?.accepted;
  apply([gateway("one", { from: { from: "Selector", selector } }), gatewayRoute("a", { namespace: "team" })]);
  assert.equal(accepted()?.reason, "NotAllowedByListeners");
  assert.match(`${accepted()?.message}`, /namespace team.*right to list and watch Namespaces/);
  apply([namespace("team", {})]);
  assert.equal(accepted()?.status, "True");
});

test("a route of which too many Routes and Plugins would be derived is refused, and its matches are closed", () => {
  const { apply, derive } = deriveScene();
  const hostnames = Array.from({ length: 16 }, (_, index) => `h${index}.test`);
  const matches = Array.from({ length: 64 }, (_, index) => ({ path: { type: "PathPrefix", value: `/${index}` } }));
  const extension = { type: "ExtensionRef", extensionRef: { group: "sluice.dev", kind: "Plugin", name: "limit" } };
  const rule = {
    matches,
    filters: Array.from({ length: 4 }, () => extension),
    backendRefs: [{ name: "web", port: 80 }],
  };
  const spec = { parentRefs: [{ name: "one" }], hostnames, rules: [rule] };
  apply([gateway("one"), plugin({}), coreService("web", "shop"), resource("HTTPRoute", "a", { spec })]);
  const { reason, message } = derive.gateway.routes.get("HTTPRoute/shop/a")?.parents[0]?.accepted ?? {};
  assert.equal(reason, "UnsupportedValue");
  assert.match(`${message}`, /5120 Routes and Plugins.*at most 4096/);
  const { Route, Plugin, Service } = derive.clusterState;
  const derivedPlugins = [...Plugin.keys()].filter((key) => key !== "shop/limit");
  assert.deepEqual([Route.size, derivedPlugins, Service.size], [64, [], 0]);
  for (const { spec: of, derived } of [...Route.values()] as DerivedResource[]) {
    assert.deepEqual(of?.hosts, hostnames);
    assert.equal(derived.extras?.unavailable, message);
  }
});

test("a route for which too many Plugins would be attached is closed while they are too many, and other routes are not", () => {
  const { apply, derive } = deriveScene();
  const hostnames = Array.from({ length: 16 }, (_, index) => `h${index}.test`);
  const large = (name: string): Resource => {
    const matches = Array.from({ length: 64 }, (_, index) => ({ path: { type: "PathPrefix", value: `/${index}` } }));
    const rules = [{ matches, backendRefs: [{ name, port: 80 }] }];
    return resource("HTTPRoute", "large", { spec: { parentRefs: [{ name: "one" }], hostnames, rules } });
  };
  const attached = (number: number) => attachedPlugin(`p${number}`, "Gateway/one", { plugin: `plugin-${number}` });
  const closed = () =>
    ([...derive.clusterState.Route.values()] as DerivedResource[]).filter(({ derived }) => derived.extras?.unavailable);
  const counts = (name: string) => [closed().length, routesWith(derive, name).length];
  apply([
    gateway("one"),
    coreService("web", "shop"),
    large("web"),
    gatewayRoute("small"),
    ...[0, 1, 2, 3].map(attached),
  ]);
  assert.deepEqual(counts("p3"), [0, 1025]);
  apply([attached(4)]);
  // Each Plugin keeps one Route of the closed route, so that its conditions are decided.
  assert.deepEqual(counts("p4"), [1024, 2]);
  const [fault, ...others] = closed().flatMap(({ derived }) => derived.fault ?? []);
  assert.deepEqual([/5120 Plugins.*at most 4096/.test(`${fault}`), others], [true, []]);
  apply([large("other")]);
  assert.deepEqual(counts("p3"), [1024, 2]);
  apply([attached(4)], { gone: true });
  assert.deepEqual(counts("p3"), [0, 1025]);
});

test("a Gateway whose ports have changed is a change of the document, and its routes are not derived again", () => {
  const { apply, derive, reported, network } = deriveScene();
  apply([gateway("one"), gatewayRoute("a")]);
  network.nodePortOf = () => undefined;
  network.changes.emit(new Set(["shop/one"]));
  assert.deepEqual(reported(), ["Gateway/shop/one"]);
  assert.equal(derive.gateway.listeners().size, 0);
});

for (const [protocol, hostname, reason] of [
  ["HTTP", "a.test", "HostnameConflict"],
  ["HTTPS", "b.test", "ProtocolConflict"],
] as const)
  test(`of listeners of two Gateways with a ${reason}, the older is served, and the younger after it`, () => {
    const { apply, derive } = deriveScene();
    const older = gateway("older", { hostname: "a.test" });
    const younger = gateway("a-younger", { hostname, protocol, created: "2026-02-01T00:00:00Z" });
    const youngest = gateway("a-youngest", { hostname: "b.test", created: "2026-03-01T00:00:00Z" });
    const served = () => [...derive.gateway.listeners().keys()].sort();
    apply([grant("Gateway", "Secret"), certificate, youngest, younger]);
    apply([older]);
    assert.deepEqual(served(), ["shop/a-youngest/web", "shop/older/web"]);
    const refused = derive.gateway.gateways.get("shop/a-younger");
    assert.deepEqual([refused?.listeners[0]?.conflicted.reason, refused?.accepted.status], [reason, "False"]);
    assert.match(refused?.listeners[0]?.conflicted.message ?? "", /the listener shop\/older\/web of an older Gateway/);
    assert.equal(refused?.resources.length, 0);
    apply([older], { gone: true });
    assert.ok(served().includes("shop/a-younger/web"));
  });

for (const listeners of ["none", [null], [{ name: "a", port: 1, protocol: "HTTP", allowedRoutes: { kinds: 5 } }]])
  test(`a Gateway in a directory with the listeners ${JSON.stringify(listeners)} is left out`, () => {
    const { apply, derive } = deriveScene();
    apply([
      resource("Gateway", "broken", { spec: { gatewayClassName: "sluice", listeners } }),
      gateway("one"),
      gatewayRoute("a"),
    ]);
    assert.deepEqual([...derive.gateway.gateways.keys()], ["shop/one"]);
  });

describe("parameters of Gateways", () => {
  const dedicated = { nodes: "Dedicated", deployment: { replicas: 3 } };
  const broken = { nodes: "Dedicated", autoscaling: {} };
  const conditionsOf = ({ derive }: ReturnType<typeof deriveScene>, key = "shop/one") =>
    derive.gateway.gateways.get(key)?.accepted.reason;
  const servedBy = ({ derive }: ReturnType<typeof deriveScene>, key = "shop/one") =>
    derive.gateway.gateways.get(key)?.listeners.map(({ served }) => served && (served.fleets ?? ["shared"]));

  it("choose the fleet that serves a Gateway, when they appear and whenever they change", () => {
    const scene = deriveScene();
    scene.apply([gateway("one", { parameters: "own" })]);
    assert.deepEqual([conditionsOf(scene), servedBy(scene)], ["InvalidParameters", [undefined]]);
    scene.apply([gatewayParameters("own", {})]);
    assert.deepEqual([conditionsOf(scene), servedBy(scene)], ["Accepted", [["shared"]]]);
    scene.apply([gatewayParameters("own", dedicated)]);
    assert.deepEqual(servedBy(scene), [["fleet-one"]]);
    assert.deepEqual(scene.derive.gateway.listeners().get("shop/one/web")?.fleets, ["fleet-one"]);
    assert.deepEqual(scene.reported(), ["Gateway/shop/one", "GatewayParameters/shop/own"]);
  });

  it("of a class apply to its Gateways, and are reported as a change of the class and its Gateways", () => {
    const scene = deriveScene();
    scene.apply([gatewayClass("web", "sluice.dev/gateway-controller", "class"), gateway("one", { className: "web" })]);
    const faultOf = () => scene.derive.gateway.gatewayClasses().map(scene.derive.gateway.gatewayClassFault);
    const missing = "there is no GatewayParameters shop/class: create it, or remove the reference";
    assert.deepEqual(faultOf(), [`spec.parametersRef: ${missing}`]);
    assert.equal(conditionsOf(scene), "InvalidParameters");
    scene.apply([gatewayParameters("class", dedicated)]);
    assert.deepEqual([faultOf(), conditionsOf(scene), servedBy(scene)], [[undefined], "Accepted", [["fleet-one"]]]);
    assert.ok(scene.reported()?.some((ref) => ref.startsWith("GatewayClass/")));
  });

  it("that become invalid leave a Gateway that is served as it was, with a condition", () => {
    const scene = deriveScene();
    scene.apply([gateway("one", { parameters: "own" }), gatewayParameters("own", dedicated)]);
    for (const change of [
      () => scene.apply([gatewayParameters("own", broken)]),
      () => scene.apply([gatewayParameters("own", broken)], { gone: true }),
      () => scene.apply([gateway("one", { parameters: "other" })]),
    ]) {
      change();
      const { parameters, accepted } = scene.derive.gateway.gateways.get("shop/one") ?? {};
      assert.deepEqual([accepted?.status, accepted?.reason], ["False", "InvalidParameters"]);
      assert.match(accepted?.message ?? "", /GatewayParameters .*\. The Gateway is still served as before$/);
      assert.deepEqual([parameters?.deployment.replicas, servedBy(scene)], [3, [["fleet-one"]]]);
    }
    scene.apply([gateway("one")]);
    assert.deepEqual([conditionsOf(scene), servedBy(scene)], ["Accepted", [["shared"]]]);
  });

  it("of a deleted Gateway do not apply to a later one of the same name", () => {
    const scene = deriveScene();
    scene.apply([gateway("one", { parameters: "own" }), gatewayParameters("own", dedicated)]);
    scene.apply([gatewayParameters("own", broken)]);
    const later = gateway("one", { parameters: "own" });
    scene.apply([{ ...later, metadata: { ...later.metadata, uid: "later" } }]);
    assert.deepEqual(servedBy(scene), [undefined]);
  });

  it("that are invalid since the start leave a Gateway with the fleets that serve it already", () => {
    const scene = deriveScene();
    const { fleetsOf } = scene.network;
    scene.network.fleetsOf = (one, parameters) => (parameters ? fleetsOf(one, parameters) : ["fleet-before"]);
    scene.apply([gateway("one", { parameters: "own" }), gatewayParameters("own", broken)]);
    assert.deepEqual([conditionsOf(scene), servedBy(scene)], ["InvalidParameters", [["fleet-before"]]]);
    assert.equal(scene.derive.gateway.gateways.get("shop/one")?.parameters, undefined);
  });
});
