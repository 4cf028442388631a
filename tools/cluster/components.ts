import { join } from "node:path";

/** The ports of the components of one control plane, all on 127.0.0.1. */
export interface ControlPlanePorts {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly apiServer: number;
}

/** Names of the files in a control plane's state folder. */
export const stateFiles = {
  etcd: "etcd",
  authority: "authority.crt",
  certificate: "api-server.crt",
  key: "api-server.key",
  /** Signs and verifies service account tokens. */
  accountKey: "service-account.key",
  tokens: "tokens.csv",
  admin: "admin.kubeconfig",
  controllers: "controllers.kubeconfig",
} as const;

/**
 * The controllers whose effects the suites need: garbage collection, namespace deletion, EndpointSlices of core
 * Services, and the service account `default` of each namespace.
 */
const controllers = [
  "garbage-collector-controller",
  "namespace-controller",
  "endpointslice-controller",
  "serviceaccount-controller",
];

/** For each component, the arguments with which `kube` (main.go) runs the component on a state folder. */
export function componentCommandLines(folder: string, ports: ControlPlanePorts) {
  const file = (name: keyof typeof stateFiles) => join(folder, stateFiles[name]);
  const etcd = `http://127.0.0.1:${ports.etcd}`;
  return {
    etcd: ["etcd", file("etcd"), etcd, `http://127.0.0.1:${ports.etcdPeer}`],
    apiServer: [
      "kube-apiserver",
      `--etcd-servers=${etcd}`,
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      // There are no pods that could use the address of the `kubernetes` Service.
      "--endpoint-reconciler-type=none",
      `--secure-port=${ports.apiServer}`,
      `--cert-dir=${folder}`,
      `--tls-cert-file=${file("certificate")}`,
      `--tls-private-key-file=${file("key")}`,
      `--client-ca-file=${file("authority")}`,
      `--token-auth-file=${file("tokens")}`,
      "--authorization-mode=RBAC",
      "--anonymous-auth=false",
      // By default one worker deletes the objects of a collection one after another, which is slow for thousands.
      "--delete-collection-workers=8",
      `--service-account-key-file=${file("accountKey")}`,
      `--service-account-signing-key-file=${file("accountKey")}`,
      "--service-account-issuer=https://kubernetes.default.svc",
      "--service-cluster-ip-range=10.96.0.0/16",
      // Pods here never run. This plugin would refuse them in a namespace without a service account, and only the
      // controllers create service accounts.
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
