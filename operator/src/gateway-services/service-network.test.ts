import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type GatewayParameters, type Resource, resourceKey } from "@sluice/crds";
import { createEmitter } from "../emitter.ts";
import { type WatchedKind, watchedKinds } from "../watch/cluster-state.ts";
import type { ClusterChange } from "../watch/watch-stage.ts";
import { gatewayObjectName } from "./object-names.ts";
import { createServiceNetwork } from "./service-network.ts";

const gateway = (name: string, port = 80): Resource => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: { namespace: "shop", name },
  spec: { gatewayClassName: "sluice", listeners: [{ name: "web", port, protocol: "HTTP" }] },
});

const listenerSet = (name: string, parent: string): Resource => ({
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "ListenerSet",
  metadata: { namespace: "shop", name },
  spec: { parentRef: { name: parent }, listeners: [{ name: "web", port: 80, protocol: "HTTP" }] },
});

/** The Service of a Gateway. With a finalizer, as those of load balancers have, its deletion is first a change. */
const service = (
  name: string,
  targetPort: number,
  metadata: { readonly deletionTimestamp?: string } = {},
): Resource => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: {
    namespace: "sluice",
    name: `gateway-${name}`,
    labels: { "sluice.dev/gateway-class": "sluice" },
    annotations: { "sluice.dev/gateway": `shop/${name}` },
    ...metadata,
  },
  spec: { ports: [{ port: 80, targetPort }] },
});

/** The network of an operator with one port for Gateways. */
function networkScene() {
  const changes = createEmitter<ClusterChange>();
  const state = Object.fromEntries(watchedKinds.map((kind) => [kind, new Map<string, Resource>()]));
  const clusterState = state as Record<WatchedKind, Map<string, Resource>>;
  const network = createServiceNetwork({
    watch: { clusterState, changes },
    settings: { class: "sluice", gatewayFirstPort: 10_000, gatewayLastPort: 10_000 },
    nodeService: { namespace: "sluice" },
    createsNodes: true,
  });
  const reported: string[] = [];
  network.changes.subscribe((gateways) => void reported.push(...gateways));
  function apply(resources: readonly Resource[], isGone = false): void {
    const changed = resources.map((resource) => {
      const kind = resource.kind === "Service" ? "CoreService" : (resource.kind as WatchedKind);
      const key = resourceKey(resource);
      if (isGone) clusterState[kind].delete(key);
      else clusterState[kind].set(key, resource);
      return { kind, key, isMeaningful: true };
    });
    changes.emit({ resources: changed, versions: [], isMeaningful: true, classesChanged: false });
  }
  return {
    clusterState,
    /** Puts the resources as one change. */
    put: (...resources: readonly Resource[]) => apply(resources),
    remove: (resource: Resource) => apply([resource], true),
    fleetsOf: (nodes?: GatewayParameters["nodes"]) =>
      network.fleetsOf(gateway("web"), nodes && ({ nodes } as GatewayParameters)),
    portOf: (name: string) => network.nodePortOf(gateway(name), 80),
    /** The Gateways reported since the last call. */
    reported: () => reported.splice(0),
  };
}

describe("ports of the nodes", () => {
  it("belong to a deleted Gateway until its Service is gone, then to the Gateway that waits for one", () => {
    const { put, remove, portOf, reported } = networkScene();
    put(gateway("old"));
    const port = portOf("old") ?? 0;
    put(service("old", port));
    put(gateway("new"));
    assert.equal(portOf("new"), undefined);
    remove(gateway("old"));
    put(service("old", port, { deletionTimestamp: "2026-01-02T00:00:00Z" }));
    assert.equal(portOf("new"), undefined, "connections still reach the port through the Service");
    reported();
    remove(service("old", port));
    assert.deepEqual(reported().sort(), ["shop/new", "shop/old"]);
    assert.equal(portOf("new"), port);
  });

  it("are freed when neither the Gateway nor its Service has the port any more", () => {
    const { put, portOf, reported } = networkScene();
    put(gateway("old"));
    const port = portOf("old") ?? 0;
    put(service("old", port));
    portOf("new");
    put(gateway("old", 8080));
    assert.equal(portOf("new"), undefined, "the Service has the port");
    reported();
    put({ ...service("old", port), spec: { ports: [] } });
    assert.deepEqual(reported(), ["shop/new"]);
    assert.equal(portOf("new"), port);
  });

  it("go to a Gateway that waits when a Gateway without a Service is deleted", () => {
    const { put, remove, portOf, reported } = networkScene();
    put(gateway("old"));
    const port = portOf("old");
    put(gateway("new"));
    portOf("new");
    remove(gateway("old"));
    assert.deepEqual(reported(), ["shop/new"]);
    assert.equal(portOf("new"), port);
  });

  it("belong to a Gateway while one of its ListenerSets has the port", () => {
    const { put, remove, portOf, reported } = networkScene();
    put(gateway("old", 8080));
    put(listenerSet("set", "old"));
    const port = portOf("old");
    put(gateway("old", 8081));
    put(gateway("new"));
    assert.equal(portOf("new"), undefined);
    reported();
    remove(listenerSet("set", "old"));
    assert.deepEqual(reported(), ["shop/new"]);
    assert.equal(portOf("new"), port);
  });

  it("are checked once for all ListenerSets of a Gateway that change together", (context) => {
    const { put, clusterState } = networkScene();
    const reads = context.mock.method(clusterState.ListenerSet, "get").mock;
    put(gateway("old"), ...Array.from({ length: 100 }, (_, index) => listenerSet(`set-${index}`, "old")));
    assert.equal(reads.callCount(), 200, "each is read when it changes, and once for the ports of its Gateway");
  });
});

describe("the fleets of a Gateway", () => {
  const own = gatewayObjectName(gateway("web"), "sluice");
  const leadingTo = (fleet: string): Resource => {
    const selector = fleet === "shared" ? { app: "nodes" } : { "sluice.dev/fleet": fleet };
    const found = service("web", 10_000);
    return { ...found, spec: { ...found.spec, selector } };
  };
  const pushService: Resource = {
    ...service("push", 0),
    metadata: {
      ...service("push", 0).metadata,
      labels: { "sluice.dev/gateway-class": "sluice", "sluice.dev/fleet": own },
      annotations: { "sluice.dev/gateway": "shop/web" },
    },
  };

  it("are both the former and the next one, until no connection reaches the former one any more", (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { put, remove, fleetsOf, reported } = networkScene();
    assert.deepEqual([fleetsOf("Shared"), fleetsOf("Dedicated"), fleetsOf()], [["shared"], [own], []]);
    put(gateway("web"), leadingTo("shared"));
    assert.deepEqual([fleetsOf("Dedicated"), fleetsOf()], [[own, "shared"], ["shared"]]);
    put(pushService);
    put(leadingTo(own));
    assert.deepEqual(fleetsOf("Dedicated"), [own, "shared"], "machines learn of the change at different times");
    reported();
    context.mock.timers.tick(15_000);
    assert.deepEqual(reported(), ["shop/web"]);
    assert.deepEqual([fleetsOf("Dedicated"), fleetsOf("Shared"), fleetsOf()], [[own], ["shared", own], [own]]);
    put(leadingTo("shared"));
    context.mock.timers.tick(15_000);
    assert.deepEqual(fleetsOf("Shared"), ["shared", own], "its nodes still exist");
    reported();
    remove(pushService);
    assert.deepEqual([reported(), fleetsOf("Shared")], [["shop/web"], ["shared"]]);
  });

  it("are known after a restart by the Service", () => {
    const { put, fleetsOf } = networkScene();
    put(gateway("web"), leadingTo(own));
    assert.deepEqual([fleetsOf("Dedicated"), fleetsOf()], [[own], [own]]);
  });
});
