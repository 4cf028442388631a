import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Resource } from "../../../resource.ts";
import { classParametersFault, resolveParameters } from "./resolve-parameters.ts";

const ref = { group: "sluice.dev", kind: "GatewayParameters", name: "own" };
const classRef = { ...ref, name: "of-class", namespace: "infra" };
const NO_NODES = "set SLUICE_NODE_SERVICE";

interface Scene {
  /** The spec of the parameters that the Gateway names; undefined: it names none. */
  readonly own?: object | undefined;
  readonly ofClass?: object;
  readonly parametersRef?: object;
  readonly classParametersRef?: object;
  readonly dedicatedFault?: string;
}

function lookupsFor({ own, ofClass, dedicatedFault, ...refs }: Scene) {
  const parameters = new Map<string, unknown>([
    ["shop/own", own],
    ["infra/of-class", ofClass],
  ]);
  const { parametersRef = own && ref, classParametersRef = ofClass && classRef } = refs;
  const of = { apiVersion: "gateway.networking.k8s.io/v1", metadata: { name: "web", namespace: "shop" } };
  const gatewayClass = { ...of, kind: "GatewayClass", spec: { parametersRef: classParametersRef } };
  const gateway = {
    ...of,
    kind: "Gateway",
    spec: { gatewayClassName: "edge", listeners: [], ...(parametersRef && { infrastructure: { parametersRef } }) },
  };
  const lookups = {
    gatewayClass: (name: string) => (name === "edge" ? (gatewayClass as Resource) : undefined),
    readParameters: (namespace: string, name: string) => {
      const spec = parameters.get(`${namespace}/${name}`);
      return spec === undefined ? undefined : ({ ...of, spec } as Resource);
    },
    dedicatedFault,
  };
  return { gateway: gateway as Resource, gatewayClass: gatewayClass as Resource, lookups };
}

const resolve = (scene: Scene) => {
  const { gateway, lookups } = lookupsFor(scene);
  return resolveParameters(gateway, lookups);
};

const defaults = {
  nodes: "Shared",
  deployment: { replicas: 2 },
  autoscaling: undefined,
  disruptionBudget: { maxUnavailable: 1 },
  service: {},
};
const scaled = { minReplicas: 2, maxReplicas: 10, targetCPU: 70 };
const resources = { requests: { cpu: "500m" } };

describe("the parameters of a Gateway", () => {
  const table: readonly (readonly [what: string, scene: Scene, expected: object])[] = [
    ["without any", {}, defaults],
    [
      "of its own",
      { own: { nodes: "Dedicated", deployment: { replicas: 3 } } },
      { nodes: "Dedicated", deployment: { replicas: 3 } },
    ],
    ["of its class", { ofClass: { nodes: "Dedicated" } }, { nodes: "Dedicated" }],
    [
      "merged one level deep",
      {
        ofClass: {
          nodes: "Dedicated",
          deployment: { resources, tolerations: [{ key: "a" }, { key: "b" }] },
          disruptionBudget: { maxUnavailable: "25%" },
        },
        own: { deployment: { replicas: 5, tolerations: [{ key: "c" }] } },
      },
      {
        nodes: "Dedicated",
        deployment: { resources, tolerations: [{ key: "c" }], replicas: 5 },
        disruptionBudget: { maxUnavailable: "25%" },
      },
    ],
    [
      "with defaults of a class that leaves the choice of nodes to its Gateways",
      { ofClass: { deployment: { resources } }, own: { nodes: "Dedicated" } },
      { nodes: "Dedicated", deployment: { replicas: 2, resources } },
    ],
    ["without the Deployment of the class, for shared nodes", { ofClass: { deployment: { resources } } }, {}],
    [
      "with shared nodes instead of those of the class",
      { ofClass: { nodes: "Dedicated", autoscaling: scaled, service: { type: "NodePort" } }, own: { nodes: "Shared" } },
      { service: { type: "NodePort" } },
    ],
    [
      "with the defaults of an autoscaler",
      { own: { nodes: "Dedicated", autoscaling: { maxReplicas: 10 } } },
      { nodes: "Dedicated", deployment: {}, autoscaling: scaled },
    ],
    [
      "with an autoscaler of at most one node",
      { own: { nodes: "Dedicated", autoscaling: { maxReplicas: 1 } } },
      { nodes: "Dedicated", deployment: {}, autoscaling: { minReplicas: 1, maxReplicas: 1, targetCPU: 70 } },
    ],
    [
      "with a number of nodes instead of the class's autoscaler",
      { ofClass: { nodes: "Dedicated", autoscaling: scaled }, own: { deployment: { replicas: 3 } } },
      { nodes: "Dedicated", deployment: { replicas: 3 } },
    ],
    [
      "with an autoscaler instead of the class's number of nodes",
      { ofClass: { nodes: "Dedicated", deployment: { replicas: 3, resources } }, own: { autoscaling: scaled } },
      { nodes: "Dedicated", deployment: { resources }, autoscaling: scaled },
    ],
    [
      "with another type of Service than the class, for which its other members have no meaning",
      {
        ofClass: { service: { type: "LoadBalancer", loadBalancerClass: "internal", externalTrafficPolicy: "Local" } },
        own: { service: { type: "ClusterIP" } },
      },
      { service: { type: "ClusterIP" } },
    ],
    ["with members that are null in a file", { own: { nodes: null, deployment: null } }, {}],
  ];
  for (const [what, scene, expected] of table)
    test(what, () => assert.deepEqual(resolve(scene), { value: { ...defaults, ...expected } }));
});

describe("parameters are refused", () => {
  const dedicated = { nodes: "Dedicated" };
  const table: readonly (readonly [what: string, scene: Scene, fault: string])[] = [
    [
      "of another kind",
      { parametersRef: { group: "", kind: "ConfigMap", name: "own" } },
      "spec.infrastructure.parametersRef: the kind ConfigMap of v1 is not supported: name a GatewayParameters of sluice.dev",
    ],
    [
      "of another group",
      { parametersRef: { ...ref, group: "example.com" } },
      "spec.infrastructure.parametersRef: the kind GatewayParameters of example.com is not supported: name a " +
        "GatewayParameters of sluice.dev",
    ],
    [
      "that do not exist",
      { parametersRef: ref },
      "spec.infrastructure.parametersRef: there is no GatewayParameters shop/own: create it, or remove the reference",
    ],
    [
      "of another namespace, which only a file can name",
      { parametersRef: { ...classRef }, ofClass: {}, classParametersRef: undefined as never },
      "spec.infrastructure.parametersRef: there is no GatewayParameters shop/of-class: create it, or remove the reference",
    ],
    [
      "of a class without a namespace",
      { classParametersRef: { ...classRef, namespace: undefined } },
      "the GatewayClass edge: spec.parametersRef.namespace: set the namespace of the GatewayParameters of-class",
    ],
    [
      "that are invalid",
      { own: { nodes: "Own", deployment: { replicas: 0, image: "x" } } },
      "GatewayParameters shop/own: spec.nodes: expected one of: Shared, Dedicated; spec.deployment.image: unknown field; " +
        "spec.deployment.replicas: value should be between 1 and 1000",
    ],
    [
      "that no API server has validated",
      {
        own: {
          ...dedicated,
          deployment: {
            affinity: { nodeAffinity: [] },
            tolerations: {},
            nodeSelector: { "a b": "c" },
            resources: { limits: { cpu: "much", memory: -1, "example.com/cards": [] } },
          },
          disruptionBudget: { maxUnavailable: "2" },
        },
      },
      "GatewayParameters shop/own: spec.deployment.tolerations: expected an array; " +
        "spec.deployment.affinity.nodeAffinity: expected a record; spec.deployment.resources.limits.cpu: not a quantity: much; write 500m or 2 for CPU, " +
        "256Mi for memory; spec.deployment.resources.limits.memory: value should be between 0 and inf; " +
        "spec.deployment.resources.limits.example.com/cards: expected an integer or a string; " +
        "spec.deployment.nodeSelector: not the key of a label: a b; write NAME or PREFIX/NAME; " +
        "spec.disruptionBudget.maxUnavailable: expected an integer, or a percentage such as 25%, not 2",
    ],
    [
      "that are too large",
      { own: { ...dedicated, deployment: { affinity: { podAffinity: { a: "a".repeat(70_000) } } } } },
      "GatewayParameters shop/own: spec: holds more than 65536 characters",
    ],
    [
      "of a class, if they are invalid",
      { ofClass: { autoscaling: {} }, own: dedicated },
      "the GatewayClass edge: GatewayParameters infra/of-class: spec.autoscaling.maxReplicas: required field missing",
    ],
    [
      "for nodes that the Gateway does not have",
      { own: { deployment: { replicas: 3 } } },
      "GatewayParameters shop/own: spec.deployment: only for the Gateway's own nodes: set nodes to Dedicated, or remove " +
        "deployment",
    ],
    [
      "with more nodes at least than at most",
      {
        ofClass: { ...dedicated, autoscaling: { maxReplicas: 5, minReplicas: 4 } },
        own: { autoscaling: { maxReplicas: 3 } },
      },
      "GatewayParameters shop/own: spec.autoscaling.minReplicas: must not be higher than maxReplicas",
    ],
    [
      "with a number of nodes and an autoscaler",
      { own: { ...dedicated, deployment: { replicas: 3 }, autoscaling: scaled } },
      "GatewayParameters shop/own: spec.deployment.replicas: excludes autoscaling: remove one of them",
    ],
    [
      "with a class of load balancers for another type of Service",
      { ofClass: { service: { type: "NodePort" } }, own: { service: { loadBalancerClass: "internal" } } },
      "GatewayParameters shop/own: spec.service.loadBalancerClass: only for the type LoadBalancer",
    ],
    [
      "with nodes that the operator cannot create",
      { own: dedicated, dedicatedFault: NO_NODES },
      `nodes: Dedicated is not possible: ${NO_NODES}`,
    ],
  ];
  for (const [what, scene, fault] of table) test(what, () => assert.deepEqual(resolve(scene), { fault }));
});

describe("the parameters of a GatewayClass", () => {
  const table: readonly (readonly [what: string, scene: Scene, fault: string | undefined])[] = [
    ["are valid without any", {}, undefined],
    ["are valid", { ofClass: { nodes: "Dedicated" } }, undefined],
    [
      "do not exist",
      { classParametersRef: classRef },
      "spec.parametersRef: there is no GatewayParameters infra/of-class: create it, or remove the reference",
    ],
    [
      "ask for nodes that the operator cannot create",
      { ofClass: { nodes: "Dedicated" }, dedicatedFault: NO_NODES },
      `nodes: Dedicated is not possible: ${NO_NODES}`,
    ],
  ];
  for (const [what, scene, fault] of table)
    test(what, () => {
      const { gatewayClass, lookups } = lookupsFor(scene);
      assert.equal(classParametersFault(gatewayClass, lookups), fault);
    });
});
