/** `npm run cluster -- --pods`. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { StartError } from "../../start/ports.ts";
import { untilStopped } from "../../start/product.ts";
import { typed } from "../../start/typed.ts";
import { tool } from "../../tools/tool.ts";
import { writeCommand } from "../command.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { CannotRun } from "./machine.ts";

/**
 * Runs a cluster until Ctrl-C.
 *
 * @param binaries Folder for the commands that are to be on PATH.
 * @returns the exit code.
 * @throws StartError where it cannot run.
 */
export async function runPods(binaries: string): Promise<number> {
  console.log("Starting a Kubernetes cluster of one node.");
  const cluster = await startCluster().catch((error: unknown) => {
    throw error instanceof CannotRun ? new StartError(error.message) : error;
  });
  writeCommand(binaries, "kubectl", [await tool("kube"), "kubectl"]);
  writeCommand(binaries, "inside", ["env", `KUBECONFIG=${cluster.kubeconfig}`, ...cluster.enter([])]);
  console.log(await greeting(cluster, binaries));
  return untilStopped({ failed: cluster.failed, stop: cluster.down });
}

const greeting = async (cluster: Cluster, binaries: string): Promise<string> => `
The cluster is ready. In the terminal for these commands:

  export KUBECONFIG=${typed(await cluster.outsideKubeconfig())} PATH="${binaries}:$PATH"

  kubectl get pods --all-namespaces
  inside ctr --namespace=k8s.io images import IMAGE.tar
  inside curl http://SERVICE.NAMESPACE.svc.cluster.local

\`inside\` runs a command in the node's network, where names of Services resolve; there only ${typed(tmpdir())} can be
written to. There is no registry and no way out: a pod runs what was imported (npm run images makes images).
Logs: ${typed(join(cluster.folder, "logs"))}

Ctrl-C ends the cluster; nothing is kept.
`;
