/** The initial objects of a cluster: DNS, and volumes for claims. */
import { dnsAddress } from "./components.ts";
import { dnsImage } from "./images.ts";

/** This URL responds only when pods, Services and DNS work. */
export const dnsCanaryUrl = "http://kube-dns.kube-system.svc.cluster.local:8181/ready";

const meta = (name: string) => ({ name, namespace: "kube-system" });
const selector = { "k8s-app": "kube-dns" };

// Names outside the cluster do not exist: without the file's second part, CoreDNS would refuse queries for them.
const corefile = `cluster.local:53 in-addr.arpa:53 ip6.arpa:53 {
  errors
  health
  ready
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    pods insecure
  }
  cache 5
}
.:53 {
  errors
  template ANY ANY {
    rcode NXDOMAIN
  }
}
`;

const dns = [
  { apiVersion: "v1", kind: "ServiceAccount", metadata: meta("coredns") },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name: "system:coredns" },
    rules: [
      { apiGroups: [""], resources: ["services", "pods", "namespaces"], verbs: ["list", "watch"] },
      { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch"] },
    ],
  },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "system:coredns" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:coredns" },
    subjects: [{ kind: "ServiceAccount", name: "coredns", namespace: "kube-system" }],
  },
  { apiVersion: "v1", kind: "ConfigMap", metadata: meta("coredns"), data: { Corefile: corefile } },
  {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: meta("coredns"),
    spec: {
      selector: { matchLabels: selector },
      template: {
        metadata: { labels: selector },
        spec: {
          serviceAccountName: "coredns",
          dnsPolicy: "Default",
          containers: [
            {
              name: "coredns",
              image: dnsImage,
              imagePullPolicy: "Never",
              args: ["-conf", "/etc/coredns/Corefile"],
              readinessProbe: { httpGet: { path: "/ready", port: 8181 }, periodSeconds: 1 },
              securityContext: {
                allowPrivilegeEscalation: false,
                // Binding port 53 needs a capability that a file in our images cannot carry.
                runAsUser: 0,
                capabilities: { drop: ["ALL"], add: ["NET_BIND_SERVICE"] },
                readOnlyRootFilesystem: true,
              },
              volumeMounts: [{ name: "corefile", mountPath: "/etc/coredns" }],
            },
          ],
          volumes: [{ name: "corefile", configMap: { name: "coredns" } }],
        },
      },
    },
  },
  {
    apiVersion: "v1",
    kind: "Service",
    metadata: meta("kube-dns"),
    spec: {
      clusterIP: dnsAddress,
      selector,
      ports: [
        { name: "dns", port: 53, protocol: "UDP" },
        { name: "dns-tcp", port: 53, protocol: "TCP" },
        { name: "ready", port: 8181, protocol: "TCP" },
      ],
    },
  },
];

/** There is no provisioner: a claim of the default class, `folder`, is bound to one of these folders of the node. */
const volumes = (folders: readonly string[]) => [
  {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "folder", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "kubernetes.io/no-provisioner",
  },
  ...folders.map((path, index) => ({
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `folder-${index + 1}` },
    spec: {
      storageClassName: "folder",
      capacity: { storage: "100Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Retain",
      hostPath: { path, type: "Directory" },
    },
  })),
];

/** All initial objects, as one list for `kubectl apply`. */
export const systemManifests = (folders: readonly string[]): string =>
  JSON.stringify({ apiVersion: "v1", kind: "List", items: [...dns, ...volumes(folders)] });
