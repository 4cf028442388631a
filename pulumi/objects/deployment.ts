/** A Deployment of one of Sluice's parts, and core Services for its pods. */
import type { KubernetesObject } from "./create.ts";
import { metadataOf, type Release, selectorOf, type Workload } from "./names.ts";
import { placementOf, podsOf } from "./pods.ts";

export interface DeploymentParts {
  readonly component: string;
  readonly values: Workload;
  /** Unset if an autoscaler sets the number of replicas. */
  readonly replicas?: number;
  /** Whether new pods become ready before old ones are stopped. */
  readonly surges?: boolean;
  /** Seconds from the start of a pod's termination, before its preStop hook, to SIGKILL. */
  readonly grace: number;
  /** Whether the pods use the API server, with the service account of the part's name. */
  readonly usesApi: boolean;
  readonly initContainers?: readonly object[];
  /** Members of the container besides its name, its resources and those of `containerOf`. */
  readonly container: object;
  readonly volumes?: readonly object[];
}

export function deploymentOf(release: Release, parts: DeploymentParts): KubernetesObject {
  const { component, values, replicas, surges, grace, usesApi, initContainers = [], container, volumes = [] } = parts;
  const metadata = metadataOf(release, component);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: {
      ...(replicas === undefined ? {} : { replicas }),
      ...(surges ? { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: "25%" } } } : {}),
      ...podsOf(release, {
        component,
        values,
        pod: {
          ...(usesApi ? { serviceAccountName: metadata.name } : {}),
          automountServiceAccountToken: usesApi,
          terminationGracePeriodSeconds: grace,
          ...placementOf(release, component, values),
          ...(initContainers.length === 0 ? {} : { initContainers }),
        },
        container,
        volumes,
      }),
    },
  };
}

export interface ServiceParts {
  readonly component: string;
  readonly suffix?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Members of the Service's spec besides selector and ports. */
  readonly spec?: object;
  /** Ports of the Service by name. The pods' ports have the same names. */
  readonly ports: Readonly<Record<string, number>>;
  /** Node ports by the same names. Absent or 0: Kubernetes assigns one if the type of the Service requires it. */
  readonly nodePorts?: Readonly<Record<string, number>>;
}

export function serviceOf(release: Release, parts: ServiceParts) {
  const { component, suffix, annotations = {}, spec, ports, nodePorts = {} } = parts;
  const metadata = metadataOf(release, component, suffix);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations },
    spec: {
      ...spec,
      selector: selectorOf(release, component),
      ports: Object.entries(ports).map(([name, port]) => ({
        name,
        port,
        targetPort: name,
        ...(nodePorts[name] ? { nodePort: nodePorts[name] } : {}),
      })),
    },
  };
}

export const containerPorts = (ports: Readonly<Record<string, number>>) =>
  Object.entries(ports).map(([name, containerPort]) => ({ name, containerPort }));

/** Delays SIGTERM, because Services still send traffic to a terminating pod for a moment. */
export const preStop = (seconds: number): object =>
  seconds === 0 ? {} : { lifecycle: { preStop: { sleep: { seconds } } } };
