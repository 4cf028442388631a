/** The Pulumi program of this repository, with its stacks' config and state in a separate folder. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, relative, resolve } from "node:path";
import { startProcess } from "../process/index.ts";
import { obtainTool } from "../programs/tool.ts";

const root = resolve(import.meta.dirname, "../..");
const program = join(root, "pulumi");

export interface RunResult {
  readonly code: number;
  /** The run's stdout and stderr, in order. */
  readonly output: string;
}

export interface Project {
  /** Holds the config of the stacks (`Pulumi.<stack>.yaml`) and their state (`state`). */
  readonly folder: string;
  /** The environment that the `pulumi` command needs. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs `pulumi` in the folder to its end, non-interactively. `timeout` in milliseconds, default 10 minutes. */
  run(args: readonly string[], options?: { onOutput?: (piece: string) => void; timeout?: number }): Promise<RunResult>;
}

export interface ProjectOptions {
  /** Created when missing. */
  readonly folder: string;
  /** Path of the kubeconfig of the cluster. */
  readonly kubeconfig: string;
  /** Encrypts the secrets of the stacks. */
  readonly passphrase: string;
  /** Pulumi's state backend. Default: the folder `state` beside the config. */
  readonly backend?: string;
}

/** Prepares the folder. Keeps the config files that it already has, because the user may have edited them. */
export async function openProject(options: ProjectOptions): Promise<Project> {
  const { folder, kubeconfig, passphrase } = options;
  const pulumi = await obtainTool("pulumi");
  const state = join(folder, "state");
  mkdirSync(state, { recursive: true, mode: 0o700 });
  for (const file of readdirSync(program).filter((name) => /^Pulumi\..*yaml$/.test(name))) {
    if (!existsSync(join(folder, file))) cpSync(join(program, file), join(folder, file));
  }
  // Pulumi accepts only a relative path to the program.
  const project = readFileSync(join(program, "Pulumi.yaml"), "utf8");
  const main = `main: ${join(relative(folder, program), "index.ts")}`;
  writeFileSync(
    join(folder, "Pulumi.yaml"),
    project.replace(/^main: .*$/m, () => main),
  );
  const env = {
    PULUMI_HOME: join(folder, "home"),
    // With `metadata=skip` Pulumi writes no attributes file beside a state file. It truncates an attributes file before
    // writing: a run that is killed at that moment would leave a state that Pulumi cannot read. The state file itself
    // is replaced atomically.
    PULUMI_BACKEND_URL: options.backend ?? `file://${state}?metadata=skip`,
    PULUMI_CONFIG_PASSPHRASE: passphrase,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    KUBECONFIG: kubeconfig,
    // The folders of Pulumi's plugins and of a Node that strips types come first.
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
