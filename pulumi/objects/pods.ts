/** Settings common to all pods, equal to the chart's (charts/sluice/templates/_pods.tpl). */
import { imageOf, labelsOf, type Release, selectorOf, type Workload } from "./names.ts";

interface PodParts {
  readonly component: string;
  readonly values: Pick<Workload, "image" | "resources">;
  /** Members of the pod's spec besides `containers`, `volumes` and those of `podSecurity`. */
  readonly pod: object;
  /** Members of the container besides its name, its resources and those of `containerOf`. */
  readonly container: object;
  readonly volumes: readonly object[];
}

/** The selector of a part's pods, and their template with one container. */
export const podsOf = (release: Release, { component, values, pod, container, volumes }: PodParts) => ({
  selector: { matchLabels: selectorOf(release, component) },
  template: {
    metadata: { labels: labelsOf(release, component) },
    spec: {
      ...podSecurity(release),
      ...pod,
      containers: [
        { name: component, ...containerOf(release, values.image), ...container, resources: values.resources },
      ],
      ...(volumes.length === 0 ? {} : { volumes }),
    },
  },
});

/** Members of a pod's spec: the security context for Pod Security `restricted`, no Service variables, pull Secrets. */
const podSecurity = ({ values }: Release) => ({
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

/**
 * The image of a container, and the security context that Pod Security `restricted` requires.
 *
 * @param image A part's image, or a full reference.
 */
export const containerOf = (release: Release, image: Workload["image"] | string) => ({
  image: typeof image === "string" ? image : imageOf(release, image),
  imagePullPolicy: release.values.image.pullPolicy,
  // A program that fails at startup logs the reason in its last line, which the pod's status then shows.
  terminationMessagePolicy: "FallbackToLogsOnError",
  securityContext: {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  },
});

/** Scheduling of the pods: they are spread, so that the loss of one machine does not stop a part. */
export function placementOf(release: Release, component: string, placement: Workload) {
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

/** Environment variables, sorted by name as Helm sorts them. */
export const envOf = (env: Workload["env"]) =>
  Object.entries(env)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ({ name, value: String(value) }));

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

export const podProbe = ({ path, port, period, failures }: Probe) => ({
  httpGet: { path, port },
  periodSeconds: period,
  timeoutSeconds: 3,
  failureThreshold: failures,
});

const mountPath = "/etc/sluice/push";

/** The volume with the certificate of one side, its mount, and the settings that name the files. */
export function pushVolume(secretName: string, side: "operator" | "gateway") {
  const files = ["ca.crt", `${side}.crt`, `${side}.key`] as const;
  return {
    volume: {
      name: "push",
      secret: { secretName, defaultMode: 0o440, items: files.map((file) => ({ key: file, path: file })) },
    },
    mount: { name: "push", mountPath, readOnly: true },
    env: ["CA", "CERT", "KEY"].map((what, index) => ({
      name: `SLUICE_PUSH_TLS_${what}`,
      value: `${mountPath}/${files[index]}`,
    })),
  };
}
