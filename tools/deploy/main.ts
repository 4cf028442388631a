/**
 * `npm run deploy`: deploys a stack of the Pulumi program to a cluster.
 *
 *     npm run deploy -- dev               installs the CRDs' stack and runs pulumi up
 *     npm run deploy -- dev --preview     shows what the first command would change
 *     npm run deploy -- dev --destroy     removes the stack
 *
 * KUBECONFIG selects the cluster. Without KUBECONFIG, a cluster of one node, with the images of this repository, runs
 * until Ctrl-C.
 */
import { rmSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { startCluster } from "../cluster/pods/cluster.ts";
import { CannotRun } from "../cluster/pods/machine.ts";
import { runImages } from "../images/images.ts";
import { StartError } from "../start/ports.ts";
import { untilStopped } from "../start/product.ts";
import { pathInShell } from "../start/typed.ts";
import { checkCluster, crdsManager } from "./cluster-check.ts";
import { openProject, type Project } from "./project.ts";
import { readConfig, recoverStack, selectStack } from "./stack.ts";

const root = resolve(import.meta.dirname, "../..");
const usage = "usage: npm run deploy -- dev|staging|prod|crds [--preview | --destroy]";
const say = (line: string): void => console.error(line);

type Action = "up" | "preview" | "destroy";

async function main(): Promise<number> {
  const { stack, action } = chosen(process.argv.slice(2));
  const passphrase = process.env.PULUMI_CONFIG_PASSPHRASE;
  if (passphrase === undefined || passphrase === "") {
    throw new StartError("PULUMI_CONFIG_PASSPHRASE is not set: the stack's secrets are encrypted with it");
  }
  const folder = join(resolve(process.env.SLUICE_WORK || join(root, ".sluice")), "pulumi");
  const { KUBECONFIG, PULUMI_BACKEND_URL: backend } = process.env;
  if (KUBECONFIG) {
    const project = await openProject({ folder, kubeconfig: resolve(KUBECONFIG), passphrase, backend });
    return deploy(project, { stack, action, kubeconfig: resolve(KUBECONFIG) });
  }
  if (action === "destroy")
    throw new StartError("KUBECONFIG is not set: set it to the kubeconfig of the cluster that the stack is in");
  return onNode({ folder: `${folder}-node`, passphrase, stack, action });
}

function chosen(args: readonly string[]): { stack: string; action: Action } {
  const options = { preview: { type: "boolean" }, destroy: { type: "boolean" } } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    const [stack, ...more] = positionals;
    if (stack === undefined || more.length > 0 || (values.preview && values.destroy)) throw new StartError(usage);
    return { stack, action: values.destroy ? "destroy" : values.preview ? "preview" : "up" };
  } catch {
    throw new StartError(usage);
  }
}

interface OnNode {
  readonly folder: string;
  readonly passphrase: string;
  readonly stack: string;
  readonly action: Action;
}

/**
 * Deploys to a new cluster of one node, which ends with this run. Pulumi's state is removed with the cluster, so the
 * user's own backend is not used. Resolves to the exit code.
 */
async function onNode({ folder, passphrase, stack, action }: OnNode): Promise<number> {
  say("KUBECONFIG is not set: starting a cluster of one node.");
  const { tar } = await runImages();
  const cluster = await startCluster({ images: [tar] }).catch((error: unknown) => {
    throw error instanceof CannotRun ? new StartError(error.message) : error;
  });
  rmSync(folder, { recursive: true, force: true });
  try {
    const kubeconfig = await cluster.outsideKubeconfig();
    const project = await openProject({ folder, kubeconfig, passphrase });
    const code = await deploy(project, { stack, action, kubeconfig });
    if (code !== 0) return code;
    return await untilStopped(
      { failed: cluster.failed, stop: async () => {} },
      {
        greeting: `\nThe cluster runs until Ctrl-C. In another terminal: export KUBECONFIG=${pathInShell(kubeconfig)}`,
        stopping: "Stopping the cluster without draining its pods.",
      },
    );
  } finally {
    await cluster.down();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Deployment {
  readonly stack: string;
  readonly action: Action;
  readonly kubeconfig: string;
}

async function deploy(project: Project, { stack, action, kubeconfig }: Deployment): Promise<number> {
  await checkCluster(kubeconfig, () => readConfig(project, stack));
  if (stack !== "crds" && action !== "destroy") await bringCrds(project, { action, kubeconfig });
  const code = await act(project, stack, action);
  if (code === 0 && action === "up") say(`\nTo use pulumi on this stack:\n${usePulumi(project, stack)}`);
  return code;
}

/**
 * Instructions for running pulumi with this state, these plugins and this cluster. They do not contain the
 * passphrase, which the user's environment holds.
 */
function usePulumi({ folder, env }: Project, stack: string): string {
  const { PULUMI_CONFIG_PASSPHRASE: _, PATH = "", ...others } = env;
  const [pulumi = "", node = ""] = PATH.split(delimiter);
  const settings = Object.entries(others).map(([name, value]) => `${name}=${quoted(value)}`);
  return [
    `  cd ${quoted(folder)}`,
    `  export PATH=${quoted(pulumi)}:${quoted(node)}:"$PATH" ${settings.join(" ")}`,
    `  pulumi stack output --stack ${stack}`,
  ].join("\n");
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Runs the action on the stack `crds`, unless the chart or another tool has installed the CRDs. */
async function bringCrds(project: Project, { action, kubeconfig }: Omit<Deployment, "stack">): Promise<void> {
  const manager = await crdsManager(kubeconfig);
  if (manager === "helm" || manager === "others") {
    say(
      `The CRDs exist already, installed by ${manager === "helm" ? "the chart sluice-crds" : "another tool"}; they are not changed.`,
    );
    return;
  }
  if ((await act(project, "crds", action)) !== 0) throw new StartError("pulumi failed for the stack crds, see above");
}

async function act(project: Project, stack: string, action: Action): Promise<number> {
  await selectStack(project, stack);
  if (action !== "preview") await recoverStack(project, stack, say);
  const yes = action === "preview" ? [] : ["--yes"];
  const onOutput = (piece: string) => process.stdout.write(piece);
  return (await project.run([action, "--stack", stack, ...yes], { onOutput, timeout: 1_800_000 })).code;
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
