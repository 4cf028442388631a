/** The Pulumi program of this repository in a folder of its own: its stacks' config and state are there. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { startProcess } from "../process/index.ts";
import { tool } from "../programs/tool.ts";

const root = resolve(import.meta.dirname, "../..");
const program = join(root, "pulumi");

export interface Answer {
  readonly code: number;
  /** What it wrote to stdout and stderr, in order. */
  readonly output: string;
}

export interface Project {
  /** Config of the stacks (`Pulumi.<stack>.yaml`), and what Pulumi keeps of them (`state`). */
  readonly folder: string;
  /** The environment that the command needs. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs `pulumi` in the folder to its end, without questions. `timeout` in milliseconds, default 10 minutes. */
  run(args: readonly string[], options?: { onOutput?: (piece: string) => void; timeout?: number }): Promise<Answer>;
}

export interface ProjectOptions {
  /** Made when missing. */
  readonly folder: string;
  /** Path of the kubeconfig of the cluster. */
  readonly kubeconfig: string;
  /** With it the secrets of the stacks are encrypted. */
  readonly passphrase: string;
  /** Where Pulumi keeps what it knows of the stacks. Default: the folder `state` beside their config. */
  readonly backend?: string;
}

/** Puts the stacks' config into the folder, unless it is there already: from then on it is the user's. */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const { folder, kubeconfig, passphrase } = options;
  const pulumi = await tool("pulumi");
  const state = join(folder, "state");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  for (const file of readdirSync(program).filter((name) => /^Pulumi\..*yaml$/.test(name))) {
    if (!existsSync(join(folder, file))) cpSync(join(program, file), join(folder, file));
  }
  // Pulumi knows the program by a relative path only.
  const project = readFileSync(join(program, "Pulumi.yaml"), "utf8");
  const main = `main: ${join(relative(folder, program), "index.ts")}`;
  writeFileSync(
    join(folder, "Pulumi.yaml"),
    project.replace(/^main: .*$/m, () => main),
  );
  const env = {
    PULUMI_HOME: join(folder, "home"),
    // Not with a file of attributes beside each one, which is emptied before it is written: a run that is killed just then
    // would leave a state that none can read. What holds the state takes the former's place as a whole.
    PULUMI_BACKEND_URL: options.backend ?? `file://${state}?metadata=skip`,
    PULUMI_CONFIG_PASSPHRASE: passphrase,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    KUBECONFIG: kubeconfig,
    // Plugins are found there, and the Node that strips types.
    PATH: [dirname(pulumi), dirname(process.execPath), process.env.PATH ?? ""].join(delimiter),
  };
  return {
    folder,
    env,
    async run(args, { onOutput, timeout = 600_000 } = {}) {
      const all = [...args, "--non-interactive", "--color", "never"];
      const child = await startProcess(pulumi, all, { name: "pulumi", cwd: folder, env, onOutput });
      const timer = setTimeout(() => child.signal("SIGINT"), timeout);
      try {
        const { code } = await child.ended();
        return { code: code ?? 1, output: child.output() };
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
