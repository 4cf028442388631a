/** What the pods have in common, as the chart has it (charts/sluice/templates/_pods.tpl). */
import type { Image, Placement, Workload } from "../values.ts";
import { imageOf, type Release, selectorOf } from "./names.ts";

/** Restricted Pod Security, for a pod. */
export const podSecurity = ({ values }: Release) => ({
  enableServiceLinks: false,
  securityContext: {
    runAsNonRoot: true,
    runAsUser: 65532,
    runAsGroup: 65532,
    fsGroup: 65532,
    seccompProfile: { type: "RuntimeDefault" },
  },
  ...(values.image.pullSecrets.length === 0
    ? {}
    : { imagePullSecrets: values.image.pullSecrets.map((name) => ({ name })) }),
});

/** The same for a container, with its image. */
export const containerOf = (release: Release, image: Image) => ({
  image: imageOf(release, image),
  imagePullPolicy: release.values.image.pullPolicy,
  // What ends at its start says in its last line why, and the pod's status has it.
  terminationMessagePolicy: "FallbackToLogsOnError",
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
});

/** Where pods run. One node's end should not be the end of a part. */
export function placementOf(release: Release, component: string, placement: Placement) {
  const { nodeSelector, tolerations, affinity, priorityClassName } = placement;
  return {
    ...(Object.keys(nodeSelector).length === 0 ? {} : { nodeSelector }),
    ...(tolerations.length === 0 ? {} : { tolerations }),
    ...(Object.keys(affinity).length === 0 ? {} : { affinity }),
    ...(priorityClassName === "" ? {} : { priorityClassName }),
    topologySpreadConstraints: ["kubernetes.io/hostname", "topology.kubernetes.io/zone"].map((topologyKey) => ({
      topologyKey,
      maxSkew: 1,
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: selectorOf(release, component) },
      matchLabelKeys: ["pod-template-hash"],
    })),
  };
}

/** Environment variables, by their names as Helm sorts them. */
export const envOf = (env: Workload["env"]) =>
  Object.entries(env)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ({ name, value: String(value) }));

/** A variable from a Secret. */
export const secretEnv = (name: string, secretKeyRef: { readonly name: string; readonly key: string }) => ({
  name,
  valueFrom: { secretKeyRef },
});

export interface Probe {
  readonly path: string;
  readonly port: string;
  /** Seconds. */
  readonly period: number;
  readonly failures: number;
}

/** A probe that asks over HTTP. */
export const probe = ({ path, port, period, failures }: Probe) => ({
  httpGet: { path, port },
  periodSeconds: period,
  timeoutSeconds: 3,
  failureThreshold: failures,
});
