/**
 * The Deployment of the nodes of one Gateway: a copy of the release's own Deployment of nodes, so that its nodes have the
 * same image, settings and volumes, and are replaced when the release is upgraded. Pure.
 */
import type { GatewayParameters, Metadata, Resource } from "@sluice/crds";
import { FLEET_LABEL } from "./object-names.ts";

/** Label by which the objects of a release select the pods of one of its parts. */
const COMPONENT = "app.kubernetes.io/component";
/** The value for nodes of a single Gateway, with which no object of the release selects them. */
const COMPONENT_OF_FLEETS = "gateway-fleet";
/** Annotation of a Deployment whose number of nodes belongs to an autoscaler. */
const AUTOSCALED = "sluice.dev/autoscaled";

/** The members of a Deployment's spec that are read. */
interface DeploymentSpec {
  readonly replicas?: number;
  readonly selector: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly template: {
    readonly metadata?: Pick<Metadata, "labels" | "annotations">;
    readonly spec: PodSpec;
  };
  readonly [member: string]: unknown;
}

interface PodSpec {
  readonly containers: readonly { readonly name: string; readonly [member: string]: unknown }[];
  readonly topologySpreadConstraints?: readonly object[];
  readonly [member: string]: unknown;
}

export interface FleetDeploymentOptions {
  readonly metadata: Metadata;
  /** The Deployment of the release's nodes. */
  readonly template: Resource;
  /** The labels of the pods. */
  readonly podLabels: Readonly<Record<string, string>>;
  /** The Deployment in the cluster. Undefined: there is none yet. */
  readonly present: Resource | undefined;
}

const specOf = ({ spec }: Resource): DeploymentSpec => spec as unknown as DeploymentSpec;

export function fleetDeployment(
  { deployment, autoscaling }: GatewayParameters,
  { metadata, template, podLabels, present }: FleetDeploymentOptions,
): Resource {
  const { replicas: _, selector: __, paused: ___, template: pods, ...others } = specOf(template);
  const { annotations } = pods.metadata ?? {};
  const name = metadata.name;
  const matchLabels = fleetSelector(name);
  // Only an existing Deployment can leave its number of nodes to an autoscaler: without a number, it gets one node.
  const isAutoscaled = autoscaling !== undefined && present !== undefined;
  const replicas = autoscaling ? autoscaling.minReplicas : deployment.replicas;
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      ...metadata,
      annotations: { ...metadata.annotations, ...(isAutoscaled && { [AUTOSCALED]: "true" }) },
    },
    spec: {
      ...others,
      ...(!isAutoscaled && { replicas }),
      selector: { matchLabels },
      template: {
        metadata: { labels: { ...podLabels, ...matchLabels }, ...(annotations && { annotations }) },
        spec: podSpec(pods.spec, { deployment, serviceAccountName: name, matchLabels }),
      },
    },
  };
}

/** The selector of the pods of a fleet. It never changes, because the selector of a Deployment cannot. */
export const fleetSelector = (name: string): Readonly<Record<string, string>> => ({ [FLEET_LABEL]: name });

/** Whether the number of nodes belongs to an autoscaler. */
export const isAutoscaled = ({ metadata }: Resource): boolean => metadata.annotations?.[AUTOSCALED] !== undefined;

/** The number of nodes that a Deployment in the cluster asks for. */
export const replicasOf = (deployment: Resource): number | undefined => specOf(deployment).replicas;

/** The label by which the selectors of a release tell these nodes from its other nodes. */
export const fleetComponentLabel = { [COMPONENT]: COMPONENT_OF_FLEETS } as const;

/**
 * The labels that the pods, and the objects of a fleet, have from the release.
 *
 * @param nodes The headless Service of the release's nodes.
 */
export function labelsFromRelease(template: Resource, nodes: Resource): Readonly<Record<string, string>> {
  const { selector, template: pods } = specOf(template);
  const selecting = { ...selector.matchLabels, ...(nodes.spec?.selector as Readonly<Record<string, string>>) };
  const labels = Object.entries(pods.metadata?.labels ?? {});
  // If the selectors do not use the label of the component, the pods must lack the labels that the selectors use.
  const kept = COMPONENT in selecting ? labels : labels.filter(([label]) => !(label in selecting));
  return { ...Object.fromEntries(kept), ...fleetComponentLabel };
}

interface PodSpecOptions {
  readonly deployment: GatewayParameters["deployment"];
  readonly serviceAccountName: string;
  readonly matchLabels: Readonly<Record<string, string>>;
}

function podSpec(
  // The API server fills in `serviceAccount`, the older name of `serviceAccountName`.
  { serviceAccount: _, containers, topologySpreadConstraints: constraints, ...others }: PodSpec,
  { deployment, serviceAccountName, matchLabels }: PodSpecOptions,
): object {
  const { resources, nodeSelector, tolerations, affinity, priorityClassName } = deployment;
  const gateway = containers.find(({ name }) => name === "gateway") ?? containers[0];
  const placement = { nodeSelector, tolerations, affinity, priorityClassName };
  return {
    ...others,
    ...Object.fromEntries(Object.entries(placement).filter(([, value]) => value !== undefined)),
    serviceAccountName,
    automountServiceAccountToken: false,
    containers: containers.map((one) => (resources && one === gateway ? { ...one, resources } : one)),
    ...(constraints && {
      topologySpreadConstraints: constraints.map((one) => ({ ...one, labelSelector: { matchLabels } })),
    }),
  };
}
