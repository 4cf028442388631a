import { join } from "node:path";

/** Where the parts of one control plane listen, all on 127.0.0.1. */
export interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
}

/** Names of the files in a control plane's state folder. */
export const files = {
  etcd: "etcd",
  authority: "authority.crt",
  certificate: "api-server.crt",
  key: "api-server.key",
  /** Signs and proves service account tokens. */
  accountKey: "service-account.key",
  tokens: "tokens.csv",
  admin: "admin.kubeconfig",
  controllers: "controllers.kubeconfig",
} as const;

/**
 * The controllers that change what our suites see: deletions through owners and namespaces, EndpointSlices of core
 * Services, and the service account that a namespace needs before a pod can name it.
 */
const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "endpointslice-controller",
  "serviceaccount-controller",
];

/** The command lines of the components in the one binary, for a state folder. */
export function commandLines(folder: string, ports: Ports) {
  const file = (name: keyof typeof files) => join(folder, files[name]);
  const etcd = `http://127.0.0.1:${ports.etcd}`;
  return {
    etcd: ["etcd", file("etcd"), etcd, `http://127.0.0.1:${ports.etcdPeer}`],
    apiServer: [
      "kube-apiserver",
      `--etcd-servers=${etcd}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      // There is no pod that could reach the address of the `kubernetes` Service.
      "--endpoint-reconciler-type=none",
      `--secure-port=${ports.apiServer}`,
      `--cert-dir=${folder}`,
      `--tls-cert-file=${file("certificate")}`,
      `--tls-private-key-file=${file("key")}`,
      `--client-ca-file=${file("authority")}`,
      `--token-auth-file=${file("tokens")}`,
      "--authorization-mode=RBAC",
      "--anonymous-auth=false",
      // Of many objects removed at once: one after the other is slower than people who do that by scripts.
      "--delete-collection-workers=8",
      `--service-account-key-file=${file("accountKey")}`,
      `--service-account-signing-key-file=${file("accountKey")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-cluster-ip-range=10.96.0.0/16",
      // Pods here are plain objects: nothing makes the token Secrets and volumes that this plugin would demand.
      "--disable-admission-plugins=ServiceAccount",
    ],
    controllers: [
      "kube-controller-manager",
      `--controllers=${controllers.join(",")}`,
      `--kubeconfig=${file("controllers")}`,
      `--service-account-private-key-file=${file("accountKey")}`,
      "--leader-elect=false",
      "--secure-port=0",
    ],
  } satisfies Record<string, readonly string[]>;
}
