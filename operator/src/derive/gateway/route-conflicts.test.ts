import assert from "node:assert/strict";
import { test } from "node:test";
import type { Resource } from "@sluice/crds";
import { deriveScene } from "../testing-derive-stage.ts";
import { createRouteConflicts } from "./route-conflicts.ts";

const resource = (kind: string, name: string, spec: object, created = "2026-01-01T00:00:00Z"): Resource => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind,
  metadata: { name, namespace: "shop", uid: name, creationTimestamp: created },
  spec: { ...spec },
});

const LATER = "2026-02-01T00:00:00Z";

for (const [one, other, isExcluded] of [
  [undefined, undefined, true],
  [undefined, "a.test", true],
  ["a.test", undefined, true],
  ["a.test", "a.test", true],
  ["a.test", "b.test", false],
  ["*.test", "a.b.test", true],
  ["a.b.test", "*.test", true],
  ["a.b.test", "*.b.test", true],
  ["*.b.test", "*.test", true],
  ["*.test", "*.b.test", true],
  ["*.a.test", "*.b.test", false],
  ["*.test", "test", false],
  ["test", "*.test", false],
] as const)
  test(`an HTTPRoute for ${one ?? "all hosts"} ${isExcluded ? "excludes" : "admits"} a younger GRPCRoute for ${other ?? "all hosts"}`, () => {
    const conflicts = createRouteConflicts();
    const claim = (key: string, route: Resource, host: string | undefined) =>
      conflicts.set(key, { route, attaching: [{ id: "shop/one/web", port: 80, stream: undefined, hosts: [host] }] });
    claim("GRPCRoute/shop/b", resource("GRPCRoute", "b", {}, LATER), other);
    claim("HTTPRoute/shop/a", resource("HTTPRoute", "a", {}), one);
    assert.deepEqual([...conflicts.resolve()], isExcluded ? ["GRPCRoute/shop/b"] : []);
    assert.equal(conflicts.conflictOf("shop/one/web", "HTTPRoute/shop/a"), undefined);
  });

test("an excluded route keeps its other listeners, excludes no others, and is served after the older one", () => {
  const { apply, derive } = deriveScene();
  const listeners = ["one", "two"].map((name, index) => ({ name, port: 80 + index, protocol: "HTTP" }));
  const route = (kind: string, name: string, sections: readonly string[], created?: string) =>
    resource(
      kind,
      name,
      { parentRefs: sections.map((sectionName) => ({ name: "web", sectionName })), rules: [{}] },
      created,
    );
  const older = route("HTTPRoute", "older", ["one"]);
  apply([
    resource("Gateway", "web", { gatewayClassName: "sluice", listeners }),
    route("GRPCRoute", "younger", ["one", "two"], LATER),
    route("HTTPRoute", "youngest", ["one"], "2026-03-01T00:00:00Z"),
  ]);
  const counts = () => ["one", "two"].map((name) => derive.gateway.attachedRoutes(`shop/web/${name}`));
  const accepted = (ref: string) => derive.gateway.routes.get(ref)?.parents.map((parent) => parent.accepted.reason);
  assert.deepEqual(counts(), [1, 1]);
  assert.deepEqual(accepted("HTTPRoute/shop/youngest"), ["HostnameConflict"]);
  apply([older]);
  assert.deepEqual(counts(), [2, 1]);
  assert.deepEqual(accepted("GRPCRoute/shop/younger"), ["HostnameConflict", "Accepted"]);
  assert.deepEqual(accepted("HTTPRoute/shop/youngest"), ["Accepted"]);
  const [refused] = derive.gateway.routes.get("GRPCRoute/shop/younger")?.parents ?? [];
  assert.match(`${refused?.accepted.message}`, /not on the listener one: an older HTTPRoute/);
  apply([older], { gone: true });
  assert.deepEqual(counts(), [1, 1]);
});

test("a route whose hosts are unchanged is not compared with the other routes of its listener", () => {
  const conflicts = createRouteConflicts();
  let reads = 0;
  const claim = (kind: string, at: number) => {
    const route = resource(kind, `${at}`, {});
    const counted = {
      ...route,
      get metadata() {
        reads++;
        return route.metadata;
      },
    };
    const attaching = [{ id: "shop/one/web", port: 80, stream: undefined, hosts: [undefined] }];
    conflicts.set(`${kind}/shop/${at}`, { route: counted, attaching });
  };
  for (let at = 0; at < 200; at++) for (const kind of ["HTTPRoute", "GRPCRoute"]) claim(kind, at);
  assert.equal(conflicts.resolve().size, 200);
  reads = 0;
  claim("HTTPRoute", 7);
  assert.equal(conflicts.resolve().size, 0);
  assert.ok(reads < 10, `${reads} reads of metadata`);
});
