/** What a stack needs of a cluster, asked before anything is created. */
import { execFile } from "node:child_process";
import { StartError } from "../start/ports.ts";
import { tool } from "../tools/tool.ts";

/** What is created beside what the home namespace allows: verb, and kind as kubectl names it. */
const needed = [
  ["create", "namespaces"],
  ["create", "clusterroles.rbac.authorization.k8s.io"],
  ["create", "clusterrolebindings.rbac.authorization.k8s.io"],
  ["create", "validatingwebhookconfigurations.admissionregistration.k8s.io"],
  ["create", "deployments.apps"],
  ["create", "statefulsets.apps"],
  ["create", "services"],
  ["create", "secrets"],
  ["create", "serviceaccounts"],
  ["create", "roles.rbac.authorization.k8s.io"],
  ["create", "rolebindings.rbac.authorization.k8s.io"],
  ["create", "poddisruptionbudgets.policy"],
] as const;

const kinds = ["certificates", "consumers", "plugins", "routes", "services", "upstreams"];

/** Runs kubectl on the cluster of a kubeconfig; rejects with its own words. */
export function kubectlOf(kubeconfig: string): (args: readonly string[]) => Promise<string> {
  return async (args) => {
    const kube = await tool("kube");
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
    // It asks for a name and a password where the kubeconfig has no user.
    child.stdin?.end();
    return promise;
  };
}

/** @throws StartError when there is no cluster, or naming each verb that is not allowed. */
export async function checkCluster(kubeconfig: string): Promise<void> {
  const kubectl = kubectlOf(kubeconfig);
  try {
    await kubectl(["get", "--raw=/version"]);
  } catch (error) {
    throw new StartError(`no cluster answers where ${kubeconfig} says: ${messageOf(error)}`);
  }
  const missing: string[] = [];
  for (const [verb, kind] of needed) {
    const answer = await kubectl(["auth", "can-i", verb, kind, "--all-namespaces"]).catch(messageOf);
    if (!/^yes/m.test(answer)) missing.push(`${verb} ${kind}`);
  }
  if (missing.length === 0) return;
  throw new StartError(["the cluster does not allow you to do what a stack does:", ...missing].join("\n  "));
}

/** Who brought Sluice's CRDs: `pulumi`, `helm`, somebody else, or nobody yet. */
export async function crdsManager(kubeconfig: string): Promise<"nobody" | "pulumi" | "helm" | "others"> {
  const names = kinds.map((kind) => `crd/${kind}.sluice.dev`);
  const text = await kubectlOf(kubeconfig)(["get", ...names, "--ignore-not-found", "--show-managed-fields", "-o=json"]);
  if (text.trim() === "") return "nobody";
  const managers: readonly string[] = (JSON.parse(text).items ?? []).flatMap(
    ({ metadata }: { metadata: { managedFields?: { manager: string }[] } }) =>
      (metadata.managedFields ?? []).map(({ manager }) => manager),
  );
  if (managers.some((name) => name.startsWith("pulumi-kubernetes"))) return "pulumi";
  return managers.includes("helm") ? "helm" : "others";
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
