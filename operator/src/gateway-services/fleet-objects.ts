/** The objects of the nodes that serve one Gateway only, without the Service through which clients reach them. Pure. */
import type { GatewayParameters, Metadata, Resource } from "@sluice/crds";
import { pushServiceName } from "../publish/node-discovery.ts";
import { fleetDeployment, fleetSelector, isAutoscaled, labelsFromRelease } from "./fleet-deployment.ts";
import { FLEET_LABEL, gatewayNameLabel, gatewayObjectMetadata, gatewayObjectName } from "./object-names.ts";

export interface FleetObjectsOptions {
  /** The class of the installation. */
  readonly className: string;
  /** The headless Service of the release's nodes: the objects are in its namespace, and are deleted with it. */
  readonly nodes: Resource;
  /** The Deployment of the release's nodes. */
  readonly template: Resource;
  /** The Deployment of the fleet in the cluster. Undefined: there is none yet. */
  readonly present: Resource | undefined;
}

/**
 * The objects in the order in which they are applied. The headless Service is the first, and the last that is deleted:
 * as long as it exists, there may be others.
 */
export function fleetObjects(
  gateway: Resource,
  parameters: GatewayParameters,
  { className, nodes, template, present }: FleetObjectsOptions,
): readonly Resource[] {
  const name = gatewayObjectName(gateway, className);
  const fromRelease = labelsFromRelease(template, nodes);
  const labels = { ...fromRelease, [FLEET_LABEL]: name };
  const metadata = gatewayObjectMetadata(gateway, { name, className, nodes, labels });
  const podLabels = { ...fromRelease, ...gatewayNameLabel(gateway), "app.kubernetes.io/managed-by": "sluice-operator" };
  const deployment = fleetDeployment(parameters, { metadata, template, podLabels, present });
  return [
    pushService(name, { ...metadata, name: pushServiceName(name) }, nodes),
    { apiVersion: "v1", kind: "ServiceAccount", metadata, automountServiceAccountToken: false },
    deployment,
    disruptionBudget(name, metadata, parameters.disruptionBudget),
    ...(parameters.autoscaling && isAutoscaled(deployment) ? [autoscaler(metadata, parameters.autoscaling)] : []),
  ];
}

/** A node is ready only after its first push, so the Service also publishes the addresses of nodes that are not ready. */
const pushService = (fleet: string, metadata: Metadata, nodes: Resource): Resource => ({
  apiVersion: "v1",
  kind: "Service",
  metadata,
  spec: {
    clusterIP: "None",
    publishNotReadyAddresses: true,
    selector: fleetSelector(fleet),
    // The pods are copies of the release's nodes, and have the same ports.
    ports: portsOfNodes(nodes),
  },
});

const portsOfNodes = ({ spec = {} }: Resource): readonly object[] =>
  ((spec.ports ?? []) as readonly Readonly<Record<string, unknown>>[]).map(({ nodePort: _, ...port }) => port);

const disruptionBudget = (
  fleet: string,
  metadata: Metadata,
  { maxUnavailable }: GatewayParameters["disruptionBudget"],
): Resource => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata,
  spec: {
    maxUnavailable,
    // A pod that is not ready does not block a drain.
    unhealthyPodEvictionPolicy: "AlwaysAllow",
    selector: { matchLabels: fleetSelector(fleet) },
  },
});

const autoscaler = (
  metadata: Metadata,
  { minReplicas, maxReplicas, targetCPU }: NonNullable<GatewayParameters["autoscaling"]>,
): Resource => ({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  metadata,
  spec: {
    scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: metadata.name },
    minReplicas,
    maxReplicas,
    metrics: [
      { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization: targetCPU } } },
    ],
  },
});
