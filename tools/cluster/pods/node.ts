/** The namespaces and control groups of a node, and how commands get into them. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { type Process, type StartOptions, startProcess, temporaryFolder } from "../../process/index.ts";
import { makeCgroup, removeGroups } from "./cgroups.ts";
import { podStateFiles } from "./components.ts";
import { namespaces, processIdentity, usableHierarchies, writeClusterTrace } from "./machine.ts";

export interface RunOptions {
  /** Added to the environment of this process; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: the working directory of this process. */
  readonly cwd?: string;
  /** The command's standard input. Default: empty. */
  readonly input?: string;
  /** Milliseconds until the command is killed and the run fails. Default 120,000. */
  readonly timeout?: number;
}

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Node {
  /** The state folder. Its path is the same inside the node's namespaces and outside. */
  readonly folder: string;
  /** The command line that runs a command inside, in the working directory of the caller. */
  enter(command: readonly string[]): readonly string[];
  run(command: string, args: readonly string[], options?: RunOptions): Promise<CommandResult>;
  start(command: string, args: readonly string[], options: StartOptions): Promise<Process>;
  /** Ends all processes inside, and removes namespaces, control groups and the state folder. */
  end(): Promise<void>;
}

const setup = join(import.meta.dirname, "node.sh");

/** The command line of a shell that enters the groups and then executes `becomes`, where "$@" stands for `command`. */
const inGroups = (groups: readonly string[], becomes: string, command: readonly string[]): readonly string[] => [
  "sh",
  "-c",
  `while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; done; shift; exec ${becomes}`,
  "sh",
  ...groups,
  "--",
  ...command,
];

/**
 * Creates the namespaces and starts their first process, which only holds them: when it ends, all processes inside end.
 *
 * @param prepare Fills the state folder beforehand, with `resolv.conf` at least.
 */
export async function startClusterNode(pause: string, prepare: (folder: string) => unknown): Promise<Node> {
  const hierarchies = await usableHierarchies();
  const { path: folder, remove } = temporaryFolder("pods");
  const name = folder.slice(folder.lastIndexOf("-") + 1);
  const owner = processIdentity(process.pid);
  if (owner === undefined) throw new Error("/proc does not list this process");
  const groups = hierarchies.map(({ own }) => join(own, `sluice-${name}`));
  let forget = writeClusterTrace(name, { owner, groups, folder });
  let outer: Process | undefined;
  let ended = false;
  const end = async () => {
    ended = true;
    await outer?.kill9();
    await removeGroups(groups);
    remove();
    forget();
  };
  try {
    for (const hierarchy of hierarchies) makeCgroup(hierarchy, `sluice-${name}`);
    for (const inner of ["cni", "home", "logs"]) mkdirSync(join(folder, inner));
    await prepare(folder);
    const args = [folder, tmpdir(), pause, ...hierarchies.map(({ options }) => options)];
    const unshare = `unshare ${namespaces.join(" ")} --fork --kill-child "$@"`;
    const [command = "", ...rest] = inGroups(groups, unshare, [setup, ...args]);
    outer = await startProcess(command, rest, {
      name: "the first process of the node",
      ready: /the node is set up/,
      lastSignal: "SIGKILL",
    });
    const pid = Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, "utf8").trim());
    const init = processIdentity(pid);
    if (init === undefined) throw new Error(`the first process of the node has ended: ${outer.tail()}`);
    forget = writeClusterTrace(name, { owner, init, groups, folder });
    const nsenter = `nsenter --target=${pid} ${namespaces.join(" ")} --wdns="$PWD" -- "$@"`;
    const enter = (command: readonly string[]) => {
      // After the node has ended, its pid may belong to another process.
      if (ended) throw new Error("the node has ended");
      return inGroups(groups, nsenter, command);
    };
    const env = {
      KUBECONFIG: join(folder, podStateFiles.admin),
      HOME: join(folder, "home"),
      PATH: `${join(folder, "bin")}${delimiter}${process.env.PATH}`,
    };
    return {
      folder,
      enter,
      run: async (command, args, options = {}) =>
        collect(enter([command, ...args]), { ...options, env: { ...env, ...options.env } }),
      async start(command, args, options) {
        const [first = "", ...rest] = enter([command, ...args]);
        const started = await startProcess(first, rest, { ...options, env: { ...env, ...options.env } });
        return withSignals(started);
      },
      end,
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/**
 * Sends signals to the command itself: `nsenter` waits outside for the process that it has started inside, and forwards
 * no signals to it.
 */
function withSignals(started: Process): Process {
  const signal = (name: NodeJS.Signals) => {
    const children = readFileSync(`/proc/${started.pid}/task/${started.pid}/children`, "utf8").trim();
    if (children !== "") process.kill(Number(children), name);
  };
  return {
    ...started,
    signal,
    async stop(deadline = 10_000) {
      if (started.exit() === undefined) signal("SIGTERM");
      const timer = setTimeout(() => started.kill9(), deadline);
      try {
        return await started.ended();
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** Runs a command to its end. */
function collect([command = "", ...args]: readonly string[], options: RunOptions): Promise<CommandResult> {
  const { input = "", timeout = 120_000 } = options;
  const env = { ...process.env, ...options.env };
  // Node's test runner sets this variable for its child processes. With it, a nested runner would use the protocol of
  // the parent.
  delete env.NODE_TEST_CONTEXT;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: options.cwd, env, detached: true, stdio: "pipe" });
    const texts = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].setEncoding("utf8").on("data", (piece: string) => {
        texts[stream] += piece;
      });
    }
    const late = setTimeout(() => {
      killGroup(child);
      const said = `${texts.stdout}${texts.stderr}`.slice(-4_000);
      reject(
        new Error(
          `${options.cwd ?? ""}${args.slice(args.lastIndexOf("--") + 1).join(" ")}: still running after ${timeout / 1000} s\n${said}`,
        ),
      );
    }, timeout);
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(late);
      resolve({ code, ...texts });
    });
    child.stdin.on("error", () => {}).end(input);
  });
}

function killGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // The process has just ended.
  }
}
