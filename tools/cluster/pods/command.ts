/** `npm run cluster -- --pods`. */
import { copyFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Images, runImages } from "../../images/images.ts";
import { obtainTool } from "../../programs/tool.ts";
import { StartError } from "../../start/ports.ts";
import { untilStopped } from "../../start/product.ts";
import { pathInShell } from "../../start/typed.ts";
import { writeCommand } from "../command.ts";
import { type Cluster, startCluster } from "./cluster.ts";
import { CannotRun, usableHierarchies } from "./machine.ts";

/**
 * Runs a cluster until Ctrl-C.
 *
 * @param binaries Folder for the commands that are to be on PATH.
 * @returns the exit code.
 * @throws StartError on a machine that cannot run a cluster.
 */
export async function runPods(binaries: string): Promise<number> {
  console.log("Starting a Kubernetes cluster of one node.");
  await usableHierarchies().catch(refused);
  const product = await runImages();
  const cluster = await startCluster({ images: [product.tar] });
  writeCommand(binaries, "kubectl", [await obtainTool("kube"), "kubectl"]);
  writeCommand(binaries, "inside", ["env", `KUBECONFIG=${cluster.kubeconfig}`, ...cluster.commandInside([])]);
  // Under a fixed path, which pages can name.
  const kubeconfig = join(binaries, "../kubeconfig");
  copyFileSync(await cluster.outsideKubeconfig(), kubeconfig);
  async function stop(): Promise<void> {
    rmSync(kubeconfig, { force: true });
    await cluster.down();
  }
  return untilStopped(
    { failed: cluster.failed, stop },
    {
      greeting: greeting(cluster, { binaries, kubeconfig, product }),
      stopping: "Stopping the cluster without draining its pods.",
    },
  );
}

function refused(error: unknown): never {
  throw error instanceof CannotRun ? new StartError(error.message) : error;
}

interface Greeted {
  readonly binaries: string;
  readonly kubeconfig: string;
  readonly product: Images;
}

const greeting = (cluster: Cluster, { binaries, kubeconfig, product }: Greeted): string => `
The cluster is ready. In the terminal for these commands:

  export KUBECONFIG="${kubeconfig}" PATH="${binaries}:$PATH"

  kubectl get pods --all-namespaces
  inside ctr --namespace=k8s.io images import IMAGE.tar
  inside curl http://SERVICE.NAMESPACE.svc.cluster.local

\`inside\` runs a command in the node's network, where names of Services resolve. The command can write only to
${pathInShell(tmpdir())}. There is no registry and no access to other networks: pods run imported images only.
These are imported:
${Object.values(product.images)
  .map(({ name }) => `\n  ${name}`)
  .join("")}

Logs: ${pathInShell(join(cluster.folder, "logs"))}

Ctrl-C ends the cluster; nothing is kept.
`;
