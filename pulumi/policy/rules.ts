/** Rules that every stack must satisfy: pure functions over objects, run before anything is created. */
import type { types } from "@pulumi/kubernetes";
import type { KubernetesObject } from "../objects/create.ts";

export interface PolicyRule {
  readonly name: string;
  readonly description: string;
  /** A sentence for each violation by the object. */
  faults(object: KubernetesObject): readonly string[];
}

type Container = types.output.core.v1.Container;
type PodSpec = types.output.core.v1.PodSpec;

/** Whether a Pulumi resource with this type and these properties is a Kubernetes object. */
export const isObject = (type: string, props: unknown): props is KubernetesObject =>
  type.startsWith("kubernetes:") &&
  typeof props === "object" &&
  props !== null &&
  "kind" in props &&
  "metadata" in props;

/** The spec of the pod, or of the pod template in another object; undefined if the object has neither. */
function podOf({ kind, spec }: KubernetesObject): PodSpec | undefined {
  const members = spec as { template?: { spec?: PodSpec }; jobTemplate?: { spec?: { template?: { spec?: PodSpec } } } };
  if (kind === "Pod") return spec as PodSpec;
  if (kind === "CronJob") return members.jobTemplate?.spec?.template?.spec;
  const templated = ["Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "ReplicationController", "Job"];
  return templated.includes(kind) ? members.template?.spec : undefined;
}

const containersOf = (pod: PodSpec): readonly Container[] =>
  [pod.initContainers, pod.containers, pod.ephemeralContainers].flatMap((list) => list ?? []);

const forContainers = (find: (container: Container) => readonly string[]) => (object: KubernetesObject) => {
  const pod = podOf(object);
  if (pod === undefined) return [];
  return containersOf(pod).flatMap((container) =>
    find(container).map((fault) => `container ${container.name}: ${fault}`),
  );
};

/** With a mutable tag, two pods of one Deployment may differ, and an unchanged stack may change. */
const fixedImages: PolicyRule = {
  name: "fixed-images",
  description: "Images have a digest or a fixed tag.",
  faults: forContainers(({ image = "" }) => {
    if (image.includes("@sha256:")) return [];
    const tag = /:([^:/]+)$/.exec(image)?.[1];
    if (tag === undefined) return [`the image '${image}' has no tag`];
    return tag === "latest" ? [`the image '${image}' has the tag latest, which is not fixed`] : [];
  }),
};

/** CPU needs only a request: a CPU limit throttles needlessly. */
const memoryLimits: PolicyRule = {
  name: "memory-limits",
  description: "Containers have a memory limit.",
  faults: forContainers(({ resources }) =>
    resources?.limits?.memory === undefined ? ["there is no memory limit (resources.limits.memory)"] : [],
  ),
};

type SecurityContext = Partial<types.output.core.v1.PodSecurityContext | types.output.core.v1.SecurityContext>;

/** Values that Pod Security `restricted` allows; an unset value is allowed too. */
const seLinuxTypes = new Set(["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"]);
const safeSysctls = new Set([
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_rmem",
  "net.ipv4.tcp_syncookies",
  "net.ipv4.tcp_wmem",
]);

/** Violations by the members that the security contexts of pods and of containers have in common. */
const contextFaults = ({ runAsUser, seLinuxOptions, appArmorProfile, windowsOptions }: SecurityContext) => [
  ...(runAsUser === 0 ? ["it runs as root (runAsUser)"] : []),
  ...(seLinuxTypes.has(seLinuxOptions?.type ?? "") && !seLinuxOptions?.user && !seLinuxOptions?.role
    ? []
    : ["it chooses an SELinux user, role or type that is not allowed (seLinuxOptions)"]),
  ...(appArmorProfile?.type === "Unconfined" ? ["it has no AppArmor profile (appArmorProfile)"] : []),
  ...(windowsOptions?.hostProcess ? ["it is a process of the host (windowsOptions.hostProcess)"] : []),
];

/**
 * Pod Security `restricted` (https://kubernetes.io/docs/concepts/security/pod-security-standards/), and a read-only
 * root file system.
 */
const restrictedPods: PolicyRule = {
  name: "restricted-pods",
  description: "Pods meet the Pod Security level restricted and have read-only root file systems.",
  faults(object) {
    const pod = podOf(object);
    if (pod === undefined) return [];
    const inPod = pod.securityContext ?? {};
    const kinds = new Set(["configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"]);
    const shared = (["hostNetwork", "hostPID", "hostIPC"] as const).filter((name) => pod[name]);
    const volumes = (pod.volumes ?? []).flatMap(({ name, ...source }) =>
      Object.keys(source)
        .filter((kind) => !kinds.has(kind) && kind !== "projected" && kind !== "secret")
        .map((kind) => `volume ${name}: ${kind} is not allowed in restricted pods`),
    );
    const sysctls = (inPod.sysctls ?? []).filter(({ name }) => !safeSysctls.has(name));
    const containers = forContainers(({ securityContext: own = {}, ports = [] }) => [
      ...contextFaults(own),
      ...((own.runAsNonRoot ?? inPod.runAsNonRoot) ? [] : ["it may run as root (runAsNonRoot)"]),
      ...(own.allowPrivilegeEscalation === false ? [] : ["it may gain privileges (allowPrivilegeEscalation)"]),
      ...(own.privileged ? ["it is privileged"] : []),
      ...((own.procMount ?? "Default") === "Default" ? [] : ["it sees more of /proc (procMount)"]),
      ...(ports.some(({ hostPort }) => hostPort) ? ["it uses a port of the host (hostPort)"] : []),
      ...(own.readOnlyRootFilesystem ? [] : ["its root file system can be written (readOnlyRootFilesystem)"]),
      ...(own.capabilities?.drop?.includes("ALL")
        ? []
        : ["it does not drop all capabilities (capabilities.drop: [ALL])"]),
      ...((own.capabilities?.add ?? []).every((name) => name === "NET_BIND_SERVICE") ? [] : ["it adds capabilities"]),
      ...(seccomp.has(own.seccompProfile?.type ?? inPod.seccompProfile?.type ?? "")
        ? []
        : ["it has no seccomp profile (seccompProfile.type: RuntimeDefault)"]),
    ]);
    return [
      ...shared.map((name) => `${name} is not allowed in restricted pods`),
      ...contextFaults(inPod),
      ...sysctls.map(({ name }) => `the sysctl ${name} is not allowed in restricted pods`),
      ...volumes,
      ...containers(object),
    ];
  },
};

const seccomp = new Set(["RuntimeDefault", "Localhost"]);

const exactRights: PolicyRule = {
  name: "exact-rights",
  description: "Roles list API groups, resources and verbs by name, without *.",
  faults({ kind, rules }) {
    if (kind !== "Role" && kind !== "ClusterRole") return [];
    const list = (rules ?? []) as readonly Readonly<Record<string, readonly string[] | undefined>>[];
    return list.flatMap((rule, index) =>
      ["apiGroups", "resources", "verbs", "nonResourceURLs"]
        .filter((member) => rule[member]?.some((value) => value.includes("*")))
        .map((member) => `rules.${index}.${member}: a wildcard (*) is not allowed`),
    );
  },
};

export const policyRules: readonly PolicyRule[] = [fixedImages, memoryLimits, restrictedPods, exactRights];

export const findPolicyViolations = (objects: readonly KubernetesObject[], list = policyRules): readonly string[] =>
  objects.flatMap((object) =>
    list.flatMap((rule) =>
      rule.faults(object).map((fault) => `${object.kind} ${object.metadata.name}: ${fault} [${rule.name}]`),
    ),
  );

/**
 * A sentence for each Route that no Plugin targets, neither directly nor through its Service. Plugins without targets
 * do not count. This is for public stacks, in which requests should be authenticated or limited.
 */
export function bareRoutes(objects: readonly KubernetesObject[]): readonly string[] {
  const plugins = objects.filter(({ apiVersion, kind }) => kind === "Plugin" && apiVersion.startsWith("sluice.dev/"));
  const targets = plugins.flatMap(({ metadata, spec }) => {
    const refs = (spec as { targetRefs?: readonly { kind: string; name: string }[] }).targetRefs ?? [];
    return refs.map(({ kind, name }) => `${metadata.namespace}/${kind}/${name}`);
  });
  return objects
    .filter(({ apiVersion, kind }) => kind === "Route" && apiVersion.startsWith("sluice.dev/"))
    .filter(({ metadata, spec }) => {
      const service = (spec as { serviceRef?: { name: string } }).serviceRef?.name;
      const own = [`${metadata.namespace}/Route/${metadata.name}`, `${metadata.namespace}/Service/${service}`];
      return !own.some((target) => targets.includes(target));
    })
    .map(({ metadata }) => `Route ${metadata.name}: no Plugin acts on it or its Service [no-bare-routes]`);
}
