/**
 * `npm run cluster`: the product on a real Kubernetes control plane. With `--pods`: an empty cluster of one node that
 * runs real pods. Ctrl-C stops everything; no state is kept.
 */
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { buildConsole } from "../build/console.ts";
import { obtainTool } from "../programs/tool.ts";
import { usersIn } from "../start/directory-product.ts";
import { greetingText } from "../start/greeting.ts";
import { refuseTakenPorts, StartError } from "../start/ports.ts";
import { chosenAddresses } from "../start/processes.ts";
import { untilStopped } from "../start/product.ts";
import { copySamples } from "../start/samples.ts";
import { pathInShell } from "../start/typed.ts";
import { seedUsers } from "../start/users.ts";
import { writeCommand } from "./command.ts";
import { runPods } from "./pods/command.ts";
import { startClusterProduct } from "./product.ts";
import { clusterTour } from "./tour.ts";

const root = resolve(import.meta.dirname, "../..");

async function main(args: readonly string[]): Promise<number> {
  const unknown = args.filter((arg) => arg !== "--pods");
  if (unknown.length > 0)
    throw new StartError(`npm run cluster does not know ${unknown.join(" ")}: its only option is --pods`);
  const work = join(resolve(process.env.SLUICE_WORK || join(root, ".sluice")), "cluster");
  if (args.includes("--pods")) return runPods(join(work, "bin"));
  const chosen = chosenAddresses(process.env);
  await refuseTakenPorts(chosen);
  rmSync(work, { recursive: true, force: true });
  const binaries = join(work, "bin");
  writeCommand(binaries, "kubectl", [await obtainTool("kube"), "kubectl"]);
  const samples = join(work, "samples");
  copySamples({ samples: join(root, "crds/samples"), folder: samples, userApi: chosen.userApi });
  console.log("Starting a Kubernetes control plane and Sluice on it.");
  await seedUsers(usersIn(work));
  buildConsole();
  const product = await startClusterProduct({ chosen, work, show: (line) => console.error(line) });
  // The tour shows the samples' path in the repository, unless the user API's address is not the default.
  const moved = chosen.userApi !== chosenAddresses({}).userApi;
  const { server, kubeconfig } = product.plane;
  return untilStopped(product, {
    greeting: greetingText({
      chosen,
      places: [
        ["API server", server],
        ["kubeconfig", kubeconfig],
        ["logs", pathInShell(join(work, "logs"))],
      ],
      preparation: [`export KUBECONFIG=${pathInShell(kubeconfig)} PATH="${binaries}:$PATH"`],
      steps: clusterTour({ chosen, samples: pathInShell(moved ? samples : join(root, "crds/samples")) }),
    }),
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
