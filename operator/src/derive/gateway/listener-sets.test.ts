import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { deriveScene } from "../testing-derive-stage.ts";

const resource = (kind: string, name: string, spec: object, more: object = {}): Resource => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind,
  metadata: { name, namespace: "shop", uid: name, creationTimestamp: "2026-01-01T00:00:00Z", generation: 1, ...more },
  spec: { ...spec },
});

const listener = (name: string, more: object = {}) => ({ name, port: 80, protocol: "HTTP", ...more });

const gateway = (listeners: readonly object[] = [listener("web")]): Resource =>
  resource("Gateway", "one", {
    gatewayClassName: "sluice",
    listeners,
    allowedListeners: { namespaces: { from: "Same" } },
  });

const set = (name: string, listeners: unknown, more: object = {}): Resource =>
  resource("ListenerSet", name, { parentRef: { name: "one" }, listeners }, more);

const route = (name: string, kind: string, parent: string): Resource =>
  resource("HTTPRoute", name, { parentRefs: [{ kind, name: parent }], rules: [{}] });

const served = ({ derive }: ReturnType<typeof deriveScene>) => [...derive.gateway.listeners().keys()].sort();

test("a change of a ListenerSet derives its own routes again, and no others", () => {
  const scene = deriveScene();
  const [a, b] = [set("a", [listener("x", { hostname: "a.test" })]), set("b", [listener("x", { hostname: "b.test" })])];
  const routes = [
    route("of-gateway", "Gateway", "one"),
    route("of-a", "ListenerSet", "a"),
    route("of-b", "ListenerSet", "b"),
  ];
  scene.apply([gateway(), a, b, ...routes]);
  assert.deepEqual(served(scene), ["shop/one/shop/a/x", "shop/one/shop/b/x", "shop/one/web"]);
  scene.apply([set("a", [listener("x", { hostname: "c.test" })])]);
  const reported = scene.reported()?.filter((ref) => /^(Gateway|ListenerSet|HTTPRoute)\//.test(ref));
  assert.deepEqual(reported, ["Gateway/shop/one", "HTTPRoute/shop/of-a", "ListenerSet/shop/a"]);
});

test("of ListenerSets with the same hostname, the older is served, and the younger after it", () => {
  const scene = deriveScene();
  const older = set("z-older", [listener("x", { hostname: "a.test" })]);
  const younger = set("a-younger", [listener("x", { hostname: "a.test" })], {
    creationTimestamp: "2026-02-01T00:00:00Z",
  });
  scene.apply([gateway(), younger, older, route("r", "ListenerSet", "a-younger")]);
  assert.deepEqual(served(scene), ["shop/one/shop/z-older/x", "shop/one/web"]);
  const refused = scene.derive.gateway.listenerSets.get("shop/a-younger");
  assert.deepEqual([refused?.accepted.status, refused?.accepted.reason], ["False", "ListenersNotValid"]);
  assert.doesNotMatch(`${refused?.listeners[0]?.conflicted.message}`, /z-older/);
  assert.equal(scene.derive.gateway.attachedRoutes("shop/one/shop/a-younger/x"), 1);
  scene.apply([older], { gone: true });
  assert.deepEqual(served(scene), ["shop/one/shop/a-younger/x", "shop/one/web"]);
});

test("a route of a ListenerSet that its Gateway does not allow attaches to nothing, and the status says why", () => {
  const scene = deriveScene();
  scene.apply([gateway(), set("elsewhere", [listener("x")], { namespace: "team" })]);
  const parentRefs = [{ kind: "ListenerSet", name: "elsewhere", namespace: "team" }];
  scene.apply([resource("HTTPRoute", "r", { parentRefs, rules: [{}] })]);
  assert.equal(scene.derive.gateway.listenerSets.size, 0);
  scene.apply([
    resource(
      "ListenerSet",
      "elsewhere",
      { parentRef: { name: "one", namespace: "shop" }, listeners: [listener("x")] },
      { namespace: "team" },
    ),
  ]);
  const accepted = scene.derive.gateway.routes.get("HTTPRoute/shop/r")?.parents[0]?.accepted;
  assert.equal(accepted?.reason, "NoMatchingParent");
  assert.match(
    `${accepted?.message}`,
    /the ListenerSet is not accepted: .*allows no ListenerSet of the namespace team/,
  );
  assert.deepEqual(served(scene), ["shop/one/web"]);
});

for (const listeners of ["none", [null], [{ ...listener("a"), allowedRoutes: { kinds: 5 } }]])
  test(`a ListenerSet in a directory with the listeners ${JSON.stringify(listeners)} is refused, and its Gateway served`, () => {
    const scene = deriveScene();
    scene.apply([gateway(), set("broken", listeners), set("good", [listener("x", { hostname: "a.test" })])]);
    assert.deepEqual(served(scene), ["shop/one/shop/good/x", "shop/one/web"]);
    assert.equal(scene.derive.gateway.listenerSets.get("shop/broken")?.accepted.reason, "Invalid");
  });
