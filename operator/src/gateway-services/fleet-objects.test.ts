import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { GatewayParameters, Resource } from "@sluice/crds";
import { type FleetObjectsOptions, fleetObjects } from "./fleet-objects.ts";

const gateway: Resource = {
  apiVersion: "gateway.networking.k8s.io/v1",
  kind: "Gateway",
  metadata: { namespace: "shop", name: "web" },
  spec: {
    gatewayClassName: "sluice",
    listeners: [],
    infrastructure: { labels: { team: "web", "sluice.dev/fleet": "other" }, annotations: { "example.com/cost": "1" } },
  },
};

const releaseLabels = {
  "app.kubernetes.io/name": "sluice",
  "app.kubernetes.io/instance": "edge",
  "app.kubernetes.io/component": "gateway",
};

const nodes: Resource = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "sluice", name: "edge-gateway-push", uid: "uid-of-nodes" },
  spec: {
    clusterIP: "None",
    selector: releaseLabels,
    ports: [{ name: "push", port: 8005, protocol: "TCP", targetPort: "push" }],
  },
};

/** As an API server returns it. */
const template: Resource = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { namespace: "sluice", name: "edge-gateway", generation: 3 },
  spec: {
    replicas: 4,
    paused: false,
    progressDeadlineSeconds: 600,
    strategy: { rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 }, type: "RollingUpdate" },
    selector: { matchLabels: releaseLabels },
    template: {
      metadata: {
        creationTimestamp: null,
        labels: { ...releaseLabels, "app.kubernetes.io/version": "1.2.3", "app.kubernetes.io/managed-by": "Helm" },
        annotations: { "kubectl.kubernetes.io/restartedAt": "2026-11-29T00:00:00Z" },
      },
      spec: {
        serviceAccount: "default",
        serviceAccountName: "default",
        initContainers: [{ name: "plugin-0", image: "plugin" }],
        containers: [{ name: "gateway", image: "gateway", resources: { requests: { cpu: "100m" } } }],
        nodeSelector: { disk: "ssd" },
        tolerations: [{ key: "edge" }],
        topologySpreadConstraints: [
          {
            topologyKey: "zone",
            labelSelector: { matchLabels: releaseLabels },
            matchLabelKeys: ["pod-template-hash"],
          },
        ],
        volumes: [{ name: "document", ephemeral: { volumeClaimTemplate: { spec: { storageClassName: "fast" } } } }],
      },
    },
  },
};

const parametersFor = (given: Partial<GatewayParameters>): GatewayParameters => ({
  nodes: "Dedicated",
  deployment: { ...(!given.autoscaling && { replicas: 2 }), ...given.deployment },
  autoscaling: given.autoscaling,
  disruptionBudget: { maxUnavailable: 1, ...given.disruptionBudget },
  service: {},
});

function objectsFor(parameters: Partial<GatewayParameters> = {}, options: Partial<FleetObjectsOptions> = {}) {
  const objects = fleetObjects(gateway, parametersFor(parameters), {
    className: "sluice",
    nodes,
    template,
    present: undefined,
    ...options,
  });
  return Object.fromEntries(objects.map((object) => [object.kind, object])) as Readonly<Record<string, Resource>>;
}

const present: Resource = { apiVersion: "apps/v1", kind: "Deployment", metadata: { namespace: "sluice", name: "any" } };

test("the nodes of a Gateway are a copy of the release's, which the objects of the release do not select", () => {
  const name = "gateway-web-7b3e9d2f10";
  const objects = objectsFor();
  const found = objects.Deployment?.metadata.name ?? "";
  assert.match(found, /^gateway-web-[0-9a-f]{10}$/);
  const renamed = JSON.parse(
    JSON.stringify(objects).replaceAll(found, name).replaceAll(found.slice(-10), name.slice(-10)),
  );
  const labels = {
    team: "web",
    "app.kubernetes.io/name": "sluice",
    "app.kubernetes.io/instance": "edge",
    "app.kubernetes.io/component": "gateway-fleet",
    "app.kubernetes.io/version": "1.2.3",
    "app.kubernetes.io/managed-by": "sluice-operator",
    "gateway.networking.k8s.io/gateway-name": "web",
    "sluice.dev/gateway-class": "sluice",
    "sluice.dev/fleet": name,
  };
  const metadata = {
    namespace: "sluice",
    name,
    labels,
    annotations: { "example.com/cost": "1", "sluice.dev/gateway": "shop/web" },
    ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "edge-gateway-push", uid: "uid-of-nodes" }],
  };
  const selector = { "sluice.dev/fleet": name };
  const { team: _, "sluice.dev/gateway-class": __, ...podLabels } = labels;
  assert.deepEqual(renamed, {
    Service: {
      apiVersion: "v1",
      kind: "Service",
      metadata: { ...metadata, name: "gateway-7b3e9d2f10-push" },
      spec: {
        clusterIP: "None",
        publishNotReadyAddresses: true,
        selector,
        ports: [{ name: "push", port: 8005, protocol: "TCP", targetPort: "push" }],
      },
    },
    ServiceAccount: { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    Deployment: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata,
      spec: {
        replicas: 2,
        progressDeadlineSeconds: 600,
        strategy: { rollingUpdate: { maxSurge: "25%", maxUnavailable: 0 }, type: "RollingUpdate" },
        selector: { matchLabels: selector },
        template: {
          metadata: {
            labels: podLabels,
            annotations: { "kubectl.kubernetes.io/restartedAt": "2026-11-29T00:00:00Z" },
          },
          spec: {
            serviceAccountName: name,
            automountServiceAccountToken: false,
            initContainers: [{ name: "plugin-0", image: "plugin" }],
            containers: [{ name: "gateway", image: "gateway", resources: { requests: { cpu: "100m" } } }],
            nodeSelector: { disk: "ssd" },
            tolerations: [{ key: "edge" }],
            topologySpreadConstraints: [
              {
                topologyKey: "zone",
                labelSelector: { matchLabels: selector },
                matchLabelKeys: ["pod-template-hash"],
              },
            ],
            volumes: [{ name: "document", ephemeral: { volumeClaimTemplate: { spec: { storageClassName: "fast" } } } }],
          },
        },
      },
    },
    PodDisruptionBudget: {
      apiVersion: "policy/v1",
      kind: "PodDisruptionBudget",
      metadata,
      spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: "AlwaysAllow", selector: { matchLabels: selector } },
    },
  });
});

test("the names of objects differ between classes, and stay valid for the longest names", () => {
  const name = (className: string) => objectsFor({}, { className }).Deployment?.metadata.name;
  assert.notEqual(name("sluice"), name("edge"));
  const long = { ...gateway, metadata: { namespace: "n".repeat(63), name: `${"a.".repeat(120)}b` } };
  for (const { metadata } of fleetObjects(long, parametersFor({}), {
    className: "sluice",
    nodes,
    template,
    present: undefined,
  })) {
    assert.match(metadata.name, /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])$/);
    assert.equal(metadata.labels?.["gateway.networking.k8s.io/gateway-name"], undefined);
  }
});

/** The value at a path, whose members are separated by dots. */
const at = (value: unknown, path: string): unknown =>
  path.split(".").reduce((found, member) => (found as Readonly<Record<string, unknown>> | undefined)?.[member], value);

const resources = { limits: { memory: "2Gi" } };
const pod = "Deployment.spec.template.spec";
const autoscaled = { autoscaling: { minReplicas: 3, maxReplicas: 7, targetCPU: 60 } } as const;

const rows: readonly (readonly [given: Partial<GatewayParameters>, path: string, expected: unknown])[] = [
  [{ deployment: { replicas: 5 } }, "Deployment.spec.replicas", 5],
  [{ deployment: { resources } }, `${pod}.containers.0.resources`, resources],
  [{ deployment: { nodeSelector: { disk: "hdd" } } }, `${pod}.nodeSelector`, { disk: "hdd" }],
  [{ deployment: { tolerations: [] } }, `${pod}.tolerations`, []],
  [{ deployment: { affinity: { nodeAffinity: {} } } }, `${pod}.affinity`, { nodeAffinity: {} }],
  [{ deployment: { priorityClassName: "high" } }, `${pod}.priorityClassName`, "high"],
  [{ disruptionBudget: { maxUnavailable: "25%" } }, "PodDisruptionBudget.spec.maxUnavailable", "25%"],
  [autoscaled, "Deployment.spec.replicas", 3],
  [autoscaled, "HorizontalPodAutoscaler", undefined],
];

describe("parameters of a Gateway", () => {
  for (const [given, path, expected] of rows)
    test(`${JSON.stringify(given)} set ${path}`, () => assert.deepEqual(at(objectsFor(given), path), expected));

  test("leave the number of nodes to an autoscaler once there are nodes", () => {
    const { Deployment: deployment, HorizontalPodAutoscaler: autoscaler } = objectsFor(autoscaled, { present });
    assert.equal(at(deployment, "spec.replicas"), undefined);
    assert.equal(deployment?.metadata.annotations?.["sluice.dev/autoscaled"], "true");
    assert.deepEqual(autoscaler?.spec, {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: deployment?.metadata.name },
      minReplicas: 3,
      maxReplicas: 7,
      metrics: [
        { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: 60 } } },
      ],
    });
  });
});

test("nodes without a label for their part are kept apart by the absence of the labels that select them", () => {
  const labels = { app: "nodes", tier: "edge" };
  const plain = {
    ...template,
    spec: { selector: { matchLabels: { app: "nodes" } }, template: { metadata: { labels }, spec: { containers: [] } } },
  };
  const service = { ...nodes, spec: { ...nodes.spec, selector: { app: "nodes" } } };
  const copied = at(objectsFor({}, { template: plain, nodes: service }), "Deployment.spec.template.metadata.labels");
  assert.deepEqual([at(copied, "app"), at(copied, "tier")], [undefined, "edge"]);
});
