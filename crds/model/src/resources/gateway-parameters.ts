/**
 * The custom resource GatewayParameters, which a Gateway (`spec.infrastructure.parametersRef`) or a GatewayClass
 * (`spec.parametersRef`) names. It has no members for images, environment variables or volumes: the author of a Gateway
 * may choose how many nodes run and where, but not what they run.
 */
import { specObject } from "./common-spec.ts";
import type { ParameterKindFacts, SpecNode } from "./kind.ts";

/** The nodes that serve a Gateway: those of the release, or nodes of its own. */
export type GatewayNodes = "Shared" | "Dedicated";

type Quantities = Readonly<Record<string, string | number>>;

export interface FleetDeployment {
  readonly replicas?: number;
  /** core/v1 ResourceRequirements, without claims. */
  readonly resources?: { readonly limits?: Quantities; readonly requests?: Quantities };
  readonly nodeSelector?: Readonly<Record<string, string>>;
  /** core/v1 Toleration. */
  readonly tolerations?: readonly Readonly<Record<string, unknown>>[];
  /** core/v1 Affinity. */
  readonly affinity?: Readonly<Record<string, unknown>>;
  readonly priorityClassName?: string;
}

export interface FleetAutoscaling {
  readonly minReplicas?: number;
  readonly maxReplicas: number;
  /** Percent of the CPU request. */
  readonly targetCPU?: number;
}

export interface FleetDisruptionBudget {
  /** A number of nodes, or a percentage such as `25%`. */
  readonly maxUnavailable?: number | string;
}

export interface GatewayServiceParameters {
  readonly type?: "ClusterIP" | "NodePort" | "LoadBalancer";
  readonly externalTrafficPolicy?: "Cluster" | "Local";
  readonly loadBalancerClass?: string;
}

export interface GatewayParametersSpec {
  readonly nodes?: GatewayNodes;
  readonly deployment?: FleetDeployment;
  readonly autoscaling?: FleetAutoscaling;
  readonly disruptionBudget?: FleetDisruptionBudget;
  readonly service?: GatewayServiceParameters;
}

/** Bounds what one resource can ask of the cluster. */
const MAX_REPLICAS = 1000;

const replicas = (description: string): SpecNode => ({
  type: "integer",
  description,
  minimum: 1,
  maximum: MAX_REPLICAS,
});

const quantities = (description: string): SpecNode => ({
  type: "object",
  description,
  maxProperties: 16,
  additionalProperties: {
    description: "A quantity, such as 500m or 2 for cpu, and 256Mi for memory.",
    intOrString: {
      minimum: 0,
      maxLength: 64,
      pattern: "^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
      rule: "quantity",
    },
  },
});

const text = (description: string, maxLength: number): SpecNode => ({ type: "string", description, maxLength });

const labelValue = (description: string): SpecNode => ({
  ...text(description, 63),
  pattern: "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$",
  rule: "label-value",
});

const open = (description: string): SpecNode => ({ type: "object", description, open: true });

const deployment = specObject("The Deployment of the Gateway's own nodes. Only with nodes: Dedicated.", [], {
  replicas: replicas("Number of nodes. Default: 2. Not with autoscaling."),
  resources: specObject("Compute resources of the container. Default: those of the release's nodes.", [], {
    limits: quantities("Maximum amounts, by the name of the resource."),
    requests: quantities("Requested amounts, by the name of the resource."),
  }),
  nodeSelector: {
    type: "object",
    description: "Labels of the cluster's nodes on which the pods may run. Default: those of the release's nodes.",
    maxProperties: 32,
    additionalProperties: labelValue("Value of the label."),
    keyRule: "qualified-name",
  },
  tolerations: {
    type: "array",
    description: "Taints that the pods tolerate. Default: those that the release's nodes tolerate.",
    maxItems: 32,
    items: specObject("A toleration, as in the spec of a pod.", [], {
      key: text("Key of the taint. If unset, all keys match, and the member operator must be Exists.", 317),
      operator: {
        type: "string",
        description: "How the value of the taint is compared. Default: Equal.",
        enum: ["Exists", "Equal", "Lt", "Gt"],
      },
      value: labelValue("Value of the taint."),
      effect: {
        type: "string",
        description: "Effect of the taint. If unset, all effects match.",
        enum: ["NoSchedule", "PreferNoSchedule", "NoExecute"],
      },
      tolerationSeconds: {
        type: "integer",
        description: "Seconds for which a taint with the effect NoExecute is tolerated.",
      },
    }),
  },
  affinity: specObject("Scheduling constraints, as in the spec of a pod. Default: those of the release's nodes.", [], {
    nodeAffinity: open("Constraints on the cluster's nodes."),
    podAffinity: open("Pods next to which the pods run."),
    podAntiAffinity: open("Pods next to which the pods do not run."),
  }),
  priorityClassName: {
    ...text("Name of the PriorityClass. Default: that of the release's nodes.", 253),
    minLength: 1,
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
  },
});

const autoscaling: SpecNode = {
  ...specObject(
    "A HorizontalPodAutoscaler for the Gateway's own nodes. Only with nodes: Dedicated. It needs a metrics server.",
    ["maxReplicas"],
    {
      minReplicas: replicas("Minimum number of nodes. Default: 2, or maxReplicas if that is lower."),
      maxReplicas: replicas("Maximum number of nodes."),
      targetCPU: {
        type: "integer",
        description: "Target CPU utilization in percent of the CPU request.",
        minimum: 1,
        maximum: 1000,
        default: 70,
      },
    },
  ),
  cel: [
    {
      rule: "!has(self.minReplicas) || self.minReplicas <= self.maxReplicas",
      message: "minReplicas must not be higher than maxReplicas",
    },
  ],
};

const service: SpecNode = {
  ...specObject("The Service of the Gateway. Default: the settings of the operator.", [], {
    type: {
      type: "string",
      description: "Type of the Service.",
      enum: ["ClusterIP", "NodePort", "LoadBalancer"],
    },
    externalTrafficPolicy: {
      type: "string",
      description:
        "With Local, the nodes see the client's address, because a machine of the cluster passes traffic only to its " +
        "own pods. With Cluster, to the pods of all machines.",
      enum: ["Cluster", "Local"],
    },
    loadBalancerClass: {
      ...text("Implementation of the load balancer. Kubernetes does not allow it to be changed later.", 317),
      minLength: 1,
      rule: "qualified-name",
    },
  }),
  cel: [
    {
      rule: "!has(self.type) || self.type == 'LoadBalancer' || !has(self.loadBalancerClass)",
      message: "loadBalancerClass is only for the type LoadBalancer",
    },
    {
      rule: "!has(self.type) || self.type != 'ClusterIP' || !has(self.externalTrafficPolicy)",
      message: "externalTrafficPolicy is only for the types NodePort and LoadBalancer",
    },
  ],
};

const members = {
  nodes: {
    type: "string",
    description:
      "The nodes that serve the Gateway. Shared: those of the release. Dedicated: nodes of its own, which the operator " +
      "creates in the namespace of the release. If a Gateway does not set it, that of its GatewayClass applies.",
    enum: ["Shared", "Dedicated"],
    default: "Shared",
  },
  deployment,
  autoscaling,
  disruptionBudget: specObject(
    "The PodDisruptionBudget of the Gateway's own nodes, which always exists. Only with nodes: Dedicated.",
    [],
    {
      maxUnavailable: {
        description: "Nodes that may be evicted at the same time: a number, or a percentage such as 25%.",
        default: 1,
        intOrString: {
          minimum: 0,
          maximum: MAX_REPLICAS,
          maxLength: 4,
          pattern: "^(100|[1-9]?[0-9])%$",
          rule: "percentage",
        },
      },
    },
  ),
  service,
} as const satisfies Readonly<Record<keyof GatewayParametersSpec, SpecNode>>;

/** The members that only the Gateway's own nodes have. */
export const dedicatedMembers = ["deployment", "autoscaling", "disruptionBudget"] as const;

export const gatewayParametersKind: ParameterKindFacts = {
  plural: "gatewayparameters",
  shortName: "gwp",
  spec: {
    ...specObject(
      "How a Gateway is deployed. A Gateway names the resource in spec.infrastructure.parametersRef, in its own " +
        "namespace; a GatewayClass names it in spec.parametersRef. Members of the Gateway's resource replace those of " +
        "its class.",
      [],
      Object.fromEntries(Object.entries(members).map(([name, member]) => [name, { ...member, own: true }])),
    ),
    cel: [
      ...dedicatedMembers.map((member) => ({
        rule: `!has(self.nodes) || self.nodes == 'Dedicated' || !has(self.${member})`,
        message: `${member} is only for the Gateway's own nodes: set nodes to Dedicated, or remove ${member}`,
        fieldPath: `.${member}`,
      })),
      {
        rule: "!has(self.autoscaling) || !has(self.deployment) || !has(self.deployment.replicas)",
        message: "deployment.replicas and autoscaling exclude each other: remove one of them",
        fieldPath: ".deployment",
      },
    ],
  },
  columns: [
    { name: "Nodes", jsonPath: ".spec.nodes", description: "The nodes that serve the Gateways." },
    { name: "Replicas", jsonPath: ".spec.deployment.replicas", type: "integer", description: "Number of nodes." },
    { name: "Service", jsonPath: ".spec.service.type", description: "Type of the Gateways' Services." },
    {
      name: "Age",
      jsonPath: ".metadata.creationTimestamp",
      type: "date",
      description: "Time since the resource was created.",
    },
  ],
};
