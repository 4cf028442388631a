/** Checks, before anything is created, that the cluster fulfils the requirements of a stack. */
import { execFile } from "node:child_process";
import { crdNames } from "@sluice/model";
import { obtainTool } from "../programs/tool.ts";
import { StartError } from "../start/ports.ts";

/** The values of a stack's config as texts (maps and lists as JSON), by keys such as `sluice:namespace`. */
export type ConfigTexts = ReadonlyMap<string, string>;

interface Need {
  /** The kind's name for kubectl. */
  readonly kind: string;
  /** Unset: cluster-scoped. */
  readonly namespace?: string;
}

const wide = [
  "clusterroles.rbac.authorization.k8s.io",
  "clusterrolebindings.rbac.authorization.k8s.io",
  "ingressclasses.networking.k8s.io",
  "validatingwebhookconfigurations.admissionregistration.k8s.io",
];
const atHome = [
  "configmaps",
  "deployments.apps",
  "networkpolicies.networking.k8s.io",
  "poddisruptionbudgets.policy",
  "rolebindings.rbac.authorization.k8s.io",
  "roles.rbac.authorization.k8s.io",
  "secrets",
  "serviceaccounts",
  "services",
  "statefulsets.apps",
];

/** The kinds of resources that a stack with this config creates, or may create when its values change. */
export function requiredKindsOf(config: ConfigTexts): readonly Need[] {
  if (config.get("sluice:creates") === "crds") return [{ kind: "customresourcedefinitions.apiextensions.k8s.io" }];
  const namespace = config.get("sluice:namespace") ?? "default";
  // With Roles instead of ClusterRoles none of the kinds in `wide` is created.
  const roles = !["", "[]"].includes(config.get("sluice:namespaces") ?? "");
  return [
    ...(config.get("sluice:ownNamespace") === "false" ? [] : [{ kind: "namespaces" }]),
    ...(roles ? [] : wide.map((kind) => ({ kind }))),
    ...atHome.map((kind) => ({ kind, namespace })),
  ];
}

/** Runs kubectl on the cluster of a kubeconfig; rejects with its stderr. */
export function kubectlOf(kubeconfig: string): (args: readonly string[]) => Promise<string> {
  return async (args) => {
    const kube = await obtainTool("kube");
    const env = { ...process.env, KUBECONFIG: kubeconfig };
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const child = execFile(
      kube,
      ["kubectl", "--request-timeout=10s", ...args],
      { env, timeout: 60_000 },
      (error, stdout, stderr) => {
        if (error === null) resolve(stdout);
        else reject(new Error(stderr.trim() || stdout.trim() || error.message));
      },
    );
    // With its input closed, kubectl fails instead of asking for a name and a password when the kubeconfig has no user.
    child.stdin?.end();
    return promise;
  };
}

/**
 * Checks that the cluster responds and lets the user create what the stack needs.
 *
 * @param read Reads the config of the stack; called after the cluster has responded.
 * @throws StartError when there is no cluster, or with each kind that the user may not create.
 */
export async function checkCluster(kubeconfig: string, read: () => Promise<ConfigTexts>): Promise<void> {
  const kubectl = kubectlOf(kubeconfig);
  try {
    await kubectl(["get", "--raw=/version"]);
  } catch (error) {
    throw new StartError(`no cluster answers at the address in ${kubeconfig}: ${messageOf(error)}`);
  }
  const missing: string[] = [];
  for (const { kind, namespace } of requiredKindsOf(await read())) {
    const place = namespace === undefined ? "--all-namespaces" : `--namespace=${namespace}`;
    const answer = await kubectl(["auth", "can-i", "create", kind, place]).catch(messageOf);
    if (/^yes/m.test(answer)) continue;
    missing.push(`create ${kind}${namespace === undefined ? "" : ` in the namespace ${namespace}`}`);
  }
  if (missing.length === 0) return;
  throw new StartError(
    ["the cluster does not grant you the permissions that the stack needs:", ...missing].join("\n  "),
  );
}

/** The tool that installed Sluice's CRDs: `pulumi`, `helm` or another one (`others`); `none` if no CRD exists. */
export async function crdsManager(kubeconfig: string): Promise<"none" | "pulumi" | "helm" | "others"> {
  const names = crdNames.map((name) => `crd/${name}`);
  const text = await kubectlOf(kubeconfig)(["get", ...names, "--ignore-not-found", "--show-managed-fields", "-o=json"]);
  if (text.trim() === "") return "none";
  const managers: readonly string[] = (JSON.parse(text).items ?? []).flatMap(
    ({ metadata }: { metadata: { managedFields?: { manager: string }[] } }) =>
      (metadata.managedFields ?? []).map(({ manager }) => manager),
  );
  if (managers.some((name) => name.startsWith("pulumi-kubernetes"))) return "pulumi";
  return managers.includes("helm") ? "helm" : "others";
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
