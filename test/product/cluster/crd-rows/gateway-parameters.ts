import { type CrdRow, knownValueRows, listLengthRows, numbers } from "./row.ts";

const own = (spec: object): object => ({ nodes: "Dedicated", ...spec });
const deployment = (members: object): object => own({ deployment: members });
const autoscaling = (members: object): object => own({ autoscaling: { maxReplicas: 10, ...members } });
const cpu = (quantity: unknown): object => deployment({ resources: { limits: { cpu: quantity } } });
const unavailable = (maxUnavailable: unknown): object => own({ disruptionBudget: { maxUnavailable } });
const toleration = { key: "dedicated", operator: "Equal", value: "edge", effect: "NoExecute", tolerationSeconds: 60 };
const term = { key: "zone", operator: "In", values: ["a"] };
const preferred = [{ weight: 1, preference: { matchExpressions: [term] } }];

export const gatewayParametersRows: readonly CrdRow[] = [
  ["no members", {}, null],
  ...knownValueRows("nodes", ["Shared", "Dedicated"], (nodes) => ({ nodes })),
  [
    "all members of the Deployment",
    deployment({
      replicas: 3,
      resources: { requests: { cpu: "500m", memory: "256Mi", "example.com/cards": 1 }, limits: { memory: "1e9" } },
      nodeSelector: { "example.com/pool": "edge", disk: "" },
      tolerations: [toleration, { operator: "Exists" }],
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred }, podAntiAffinity: {} },
      priorityClassName: "edge.high",
    }),
    null,
  ],
  ["a Deployment without nodes, for Gateways that set nodes", { deployment: { replicas: 3 } }, null],
  ...["deployment", "autoscaling", "disruptionBudget"].map(
    (member): CrdRow => [
      `shared nodes and ${member}`,
      { nodes: "Shared", [member]: member === "autoscaling" ? { maxReplicas: 3 } : {} },
      new RegExp(`${member} is only for the Gateway's own nodes: set nodes to Dedicated, or remove ${member}`),
    ],
  ),
  ...numbers("replicas", { from: 1, to: 1000 }, (replicas) => deployment({ replicas })),
  ...numbers("maximum replicas", { from: 1, to: 1000 }, (maxReplicas) => autoscaling({ maxReplicas })),
  ...numbers("target CPU", { from: 1, to: 1000 }, (targetCPU) => autoscaling({ targetCPU })),
  ["autoscaling without a maximum", own({ autoscaling: {} }), /spec\.autoscaling\.maxReplicas: Required value/],
  ["as many minimum as maximum replicas", autoscaling({ minReplicas: 10 }), null],
  [
    "more minimum than maximum replicas",
    autoscaling({ minReplicas: 11 }),
    /minReplicas must not be higher than maxReplicas/,
  ],
  [
    "replicas and autoscaling",
    own({ deployment: { replicas: 3 }, autoscaling: { maxReplicas: 10 } }),
    /deployment\.replicas and autoscaling exclude each other/,
  ],
  ["autoscaling and resources", own({ deployment: { resources: {} }, autoscaling: { maxReplicas: 10 } }), null],
  ...[1, "1", "1.5", "500m", "+2", "1e3", "0.5Gi"].map(
    (given): CrdRow => [`the quantity ${JSON.stringify(given)}`, cpu(given), null],
  ),
  ...["", "one", "-1", "1 Gi", "5MB", "1G i"].map(
    (given): CrdRow => [`the quantity "${given}"`, cpu(given), /spec\.deployment\.resources\.limits\.cpu/],
  ),
  ["a list as quantity", cpu([1]), /spec\.deployment\.resources\.limits\.cpu/],
  ...[0, 1000, "0%", "25%", "100%"].map((given): CrdRow => [`${given} unavailable nodes`, unavailable(given), null]),
  ...[-1, 1001, "101%", "2", "half"].map(
    (given): CrdRow => [`${given} unavailable nodes`, unavailable(given), /spec\.disruptionBudget\.maxUnavailable/],
  ),
  ["a label with a wrong value", deployment({ nodeSelector: { disk: "a b" } }), /spec\.deployment\.nodeSelector\.disk/],
  ...listLengthRows("tolerations", { to: 32 }, (count) =>
    deployment({ tolerations: Array.from({ length: count }, () => toleration) }),
  ),
  ["an unknown operator", deployment({ tolerations: [{ operator: "In" }] }), /Unsupported value/],
  ["a list as affinity", deployment({ affinity: [] }), /spec\.deployment\.affinity.*must be of type object/],
  ["an unknown affinity", deployment({ affinity: { nodes: {} } }), /unknown field/],
  ["an image", deployment({ image: "example.com/other" }), /unknown field/],
  ["environment variables", deployment({ env: [] }), /unknown field/],
  ...knownValueRows("type", ["ClusterIP", "NodePort", "LoadBalancer"], (type) => ({ service: { type } })),
  ...knownValueRows("traffic policy", ["Cluster", "Local"], (externalTrafficPolicy) => ({
    service: { externalTrafficPolicy },
  })),
  ["a class of load balancers", { service: { type: "LoadBalancer", loadBalancerClass: "example.com/internal" } }, null],
  [
    "a class of load balancers without a load balancer",
    { service: { type: "NodePort", loadBalancerClass: "internal" } },
    /loadBalancerClass is only for the type LoadBalancer/,
  ],
  [
    "a traffic policy within the cluster",
    { service: { type: "ClusterIP", externalTrafficPolicy: "Local" } },
    /externalTrafficPolicy is only for the types NodePort and LoadBalancer/,
  ],
];
