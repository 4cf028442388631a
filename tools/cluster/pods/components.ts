/** The processes of a one-node cluster: their command lines and the files that they are configured with. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { auditFlags } from "../audit.ts";

// The addresses below cannot conflict with the machine's: the node has its own network namespace.
export const apiServer = "https://10.99.0.1:6443";
export const nodeName = "node";
export const dnsAddress = "10.96.0.10";
const serviceRange = "10.96.0.0/16";
const podRange = "10.244.0.0/24";

/** The image of the container that holds a pod's namespaces. */
export const pauseImage = "sluice.test/pause:1";

/** Names of the files in the state folder. */
export const podStateFiles = {
  authority: "authority.crt",
  certificate: "api-server.crt",
  key: "api-server.key",
  /** Signs and verifies service account tokens. */
  accountKey: "service-account.key",
  tokens: "tokens.csv",
  admin: "admin.kubeconfig",
  resolver: "resolv.conf",
} as const;

export interface ComponentOptions {
  /** The state folder. */
  readonly folder: string;
  /** Paths of the programs. */
  readonly kube: string;
  readonly containerd: string;
  /** The folder of the CNI plugins. */
  readonly cni: string;
  /** Whether the API server writes an audit log. */
  readonly audit: boolean;
}

export type ComponentName = keyof ReturnType<typeof podComponentCommandLines>;

/** The command line of each component, the program first. */
export function podComponentCommandLines({ folder, kube, containerd, audit }: ComponentOptions) {
  const file = (name: string) => join(folder, name);
  return {
    // In memory: etcd waits for the disk at every write, which may take seconds on a shared disk.
    etcd: [kube, "etcd", "/run/etcd", "http://127.0.0.1:2379", "http://127.0.0.1:2380"],
    containerd: [containerd, "--config", file("containerd.toml")],
    "api-server": [
      kube,
      "kube-apiserver",
      "--etcd-servers=http://127.0.0.1:2379",
      "--advertise-address=10.99.0.1",
      "--secure-port=6443",
      `--cert-dir=${folder}`,
      `--tls-cert-file=${file(podStateFiles.certificate)}`,
      `--tls-private-key-file=${file(podStateFiles.key)}`,
      `--client-ca-file=${file(podStateFiles.authority)}`,
      `--token-auth-file=${file(podStateFiles.tokens)}`,
      "--authorization-mode=Node,RBAC",
      "--enable-admission-plugins=NodeRestriction",
      `--service-account-key-file=${file(podStateFiles.accountKey)}`,
      `--service-account-signing-key-file=${file(podStateFiles.accountKey)}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      `--service-cluster-ip-range=${serviceRange}`,
      "--allow-privileged",
      // For logs and exec the API server connects to the kubelet, and the node's name does not resolve.
      "--kubelet-preferred-address-types=InternalIP",
      ...(audit ? auditFlags(folder) : []),
    ],
    controllers: [
      kube,
      "kube-controller-manager",
      `--kubeconfig=${file("controllers.kubeconfig")}`,
      `--service-account-private-key-file=${file(podStateFiles.accountKey)}`,
      `--root-ca-file=${file(podStateFiles.authority)}`,
      "--use-service-account-credentials",
      "--leader-elect=false",
      "--secure-port=0",
      `--flex-volume-plugin-dir=${file("volume-plugins")}`,
      // With the default a claim may wait for 15 s.
      "--pvclaimbinder-sync-period=1s",
    ],
    scheduler: [
      kube,
      "kube-scheduler",
      `--kubeconfig=${file("scheduler.kubeconfig")}`,
      "--leader-elect=false",
      "--secure-port=0",
    ],
    kubelet: [
      kube,
      "kubelet",
      `--config=${file("kubelet.json")}`,
      `--kubeconfig=${file("kubelet.kubeconfig")}`,
      `--root-dir=${file("kubelet")}`,
      `--cert-dir=${file("kubelet-certificates")}`,
      `--hostname-override=${nodeName}`,
      "--node-ip=10.99.0.1",
    ],
    proxy: [kube, "kube-proxy", `--config=${file("proxy.json")}`, `--hostname-override=${nodeName}`],
  } satisfies Record<string, readonly string[]>;
}

/** Writes the configuration files of the command lines; credentials.ts writes keys and tokens. */
export function writeConfiguration({ folder, cni }: ComponentOptions): void {
  const file = (name: string) => join(folder, name);
  const put = (name: string, value: string | object) =>
    writeFileSync(file(name), typeof value === "string" ? value : JSON.stringify(value, undefined, 2));
  put("containerd.toml", containerdConfig(folder, cni));
  put(join("cni", "10-pods.conflist"), podNetwork(file("addresses")));
  put("kubelet.json", kubeletConfig(file("empty-resolv.conf"), folder));
  put("proxy.json", {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clusterCIDR: podRange,
    clientConnection: { kubeconfig: file("proxy.kubeconfig") },
    // Zero leaves the settings of the conntrack table unchanged: they apply to the whole machine.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
  });
  put("empty-resolv.conf", "# There is no name server outside of the cluster.\n");
  const search = "default.svc.cluster.local svc.cluster.local cluster.local";
  put(podStateFiles.resolver, `nameserver ${dnsAddress}\nsearch ${search}\noptions ndots:5\n`);
}

const containerdConfig = (folder: string, cni: string): string => `version = 2
root = "${join(folder, "containerd")}"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${join(folder, "containerd-opt")}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  # Otherwise no pod starts without CAP_SYS_RESOURCE, because runc may not lower the score.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cni}"
    conf_dir = "${join(folder, "cni")}"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`;

const podNetwork = (dataDir: string) => ({
  cniVersion: "1.0.0",
  name: "pods",
  plugins: [
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      hairpinMode: true,
      ipMasq: false,
      ipam: { type: "host-local", ranges: [[{ subnet: podRange }]], routes: [{ dst: "0.0.0.0/0" }], dataDir },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ],
});

const kubeletConfig = (resolvConf: string, folder: string) => ({
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  failCgroupV1: false,
  cgroupDriver: "cgroupfs",
  failSwapOn: false,
  containerRuntimeEndpoint: "unix:///run/containerd/containerd.sock",
  clusterDNS: [dnsAddress],
  clusterDomain: "cluster.local",
  resolvConf,
  // The kubelet is reachable only from the node's own network.
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: "AlwaysAllow" },
  // A full disk of the machine must not evict images, because they cannot be pulled again.
  evictionHard: Object.fromEntries(
    ["memory.available", "nodefs.available", "nodefs.inodesFree", "imagefs.available", "imagefs.inodesFree"].map(
      (signal) => [signal, "0%"],
    ),
  ),
  imageGCHighThresholdPercent: 100,
  imageGCLowThresholdPercent: 99,
  podLogsDir: join(folder, "pod-logs"),
  volumePluginDir: join(folder, "volume-plugins"),
  nodeStatusUpdateFrequency: "2s",
});
