/** `npm run cluster`: the product on a real Kubernetes control plane. Ctrl-C stops all; nothing is kept. */
import { chmodSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { greeting } from "../start/greeting.ts";
import { refuseTakenPorts, StartError } from "../start/ports.ts";
import { chosenAddresses } from "../start/processes.ts";
import { untilStopped } from "../start/product.ts";
import { keepSamples } from "../start/samples.ts";
import { typed } from "../start/typed.ts";
import { tool } from "../tools/tool.ts";
import { startClusterProduct } from "./product.ts";
import { clusterTour } from "./tour.ts";

const root = resolve(import.meta.dirname, "../..");

/** A `kubectl` in a folder of its own: the control plane's binary, which holds it. */
async function writeKubectl(folder: string): Promise<string> {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "kubectl");
  writeFileSync(file, `#!/bin/sh\nexec '${await tool("kube")}' kubectl "$@"\n`);
  chmodSync(file, 0o755);
  return folder;
}

async function main(): Promise<number> {
  const work = join(resolve(process.env.SLUICE_WORK || join(root, ".sluice")), "cluster");
  const chosen = chosenAddresses(process.env);
  await refuseTakenPorts(chosen);
  rmSync(work, { recursive: true, force: true });
  const binaries = await writeKubectl(join(work, "bin"));
  const samples = join(work, "samples");
  keepSamples({ samples: join(root, "crds/samples"), folder: samples, userApi: chosen.userApi });
  console.log("Starting a Kubernetes control plane and Sluice on it.");
  const product = await startClusterProduct({ chosen, work, show: (line) => console.error(line) });
  // The same files, under the name that everybody knows, unless an address was moved.
  const moved = chosen.userApi !== chosenAddresses({}).userApi;
  const { server, kubeconfig } = product.plane;
  console.log(
    greeting({
      chosen,
      places: [
        ["API server", server],
        ["kubeconfig", kubeconfig],
        ["logs", typed(join(work, "logs"))],
      ],
      preparation: [`export KUBECONFIG=${typed(kubeconfig)} PATH="${binaries}:$PATH"`],
      steps: clusterTour({ chosen, samples: typed(moved ? samples : join(root, "crds/samples")) }),
    }),
  );
  return untilStopped(product);
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
