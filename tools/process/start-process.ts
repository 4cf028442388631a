import { type ChildProcess, type ChildProcessByStdio, spawn } from "node:child_process";
import type { Socket } from "node:net";
import type { Readable } from "node:stream";
import { endWithUs, forgetGroup } from "./reaper.ts";
import { waitFor } from "./wait-for.ts";

/** The exit code of a process, or the signal that ended it. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that a suite has started. It ends with the suite's process at the latest, even if the suite is killed. */
export interface Process {
  readonly name: string;
  readonly pid: number;
  /**
   * Resolves when the process has ended. Never rejects, and does not keep the event loop alive: to wait, use `ended`.
   */
  readonly exited: Promise<Exit>;
  /** Waits until the process has ended, for any reason. Never rejects. */
  ended(): Promise<Exit>;
  /** The process's exit; undefined while it runs. */
  exit(): Exit | undefined;
  /** The process's stdout and stderr so far, in order: the last 1 MiB. */
  output(): string;
  /** The last lines of `output()`. Default 30. */
  tail(lines?: number): string;
  /** Waits until the output from `since` on (an index into it, default 0) matches. Default timeout 30,000 ms. */
  waitForOutput(pattern: RegExp, options?: { timeout?: number; since?: number }): Promise<RegExpMatchArray>;
  /** Sends a signal to the process itself, not to its children. */
  signal(signal: NodeJS.Signals): void;
  /**
   * Sends TERM to the process, and KILL to its whole group after the deadline (default 10,000 ms). Resolves to its
   * exit.
   */
  stop(deadline?: number): Promise<Exit>;
  /** Sends KILL to the process and its children. */
  kill9(): Promise<Exit>;
}

/** Options of a process. */
export interface StartOptions {
  /** The process's name in errors and logs. */
  readonly name: string;
  /**
   * When `startProcess` resolves: the output matches, the URL responds with a status below 500, or the condition holds
   * (see waitFor). Default: as soon as the process has started.
   */
  readonly ready?: RegExp | string | URL | (() => unknown);
  /** Milliseconds until the process must be ready. Default 30,000. */
  readonly timeout?: number;
  /** Added to the environment of this process; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  /** Run as another user; needs root. */
  readonly user?: { readonly uid: number; readonly gid: number };
  /** The signal for the started process's group when this process dies without stopping it. Default SIGTERM. */
  readonly lastSignal?: NodeJS.Signals;
  /** Called with the process's output as it arrives: chunks of stdout and stderr, not whole lines. */
  readonly onOutput?: (piece: string) => void;
}

const outputLimit = 1024 * 1024;

/**
 * Starts a command in its own process group and waits until it is ready.
 *
 * @throws Error when the process cannot start, ends before it is ready, or is not ready in time. If it has started, the
 * process and its children are killed, and the message has the last lines of its output.
 */
export async function startProcess(command: string, args: readonly string[], options: StartOptions): Promise<Process> {
  const started = await spawned(command, args, options);
  const { name, ready, timeout = 30_000 } = options;
  if (ready === undefined) return started;
  const died = new AbortController();
  started.child.once("close", () => died.abort(new Error(`${name} ended before it was ready: ${describe(started)}`)));
  const condition = () => {
    if (ready instanceof RegExp) return ready.test(started.output());
    return typeof ready === "function" ? (ready() as unknown) : answers(ready);
  };
  try {
    await waitFor(condition, { what: `${name} to be ready`, timeout, signal: died.signal });
    return started;
  } catch (error) {
    await started.kill9();
    const message = error instanceof Error ? error.message : String(error);
    throw new Error(`${message}\n--- last output of ${name}:\n${started.tail()}`, { cause: error });
  }
}

async function answers(address: string | URL): Promise<boolean> {
  const response = await fetch(address, { signal: AbortSignal.timeout(2_000) });
  await response.body?.cancel();
  return response.status < 500;
}

async function spawned(command: string, args: readonly string[], options: StartOptions): Promise<Started> {
  const env = { ...process.env, ...options.env };
  // Node's test runner sets this variable for its child processes. With it, a nested runner would use the protocol of
  // the parent.
  delete env.NODE_TEST_CONTEXT;
  const child = spawn(command, args, {
    cwd: options.cwd,
    env,
    ...options.user,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  await new Promise<void>((resolve, reject) => {
    child.once("spawn", resolve);
    child.once("error", (error) => reject(new Error(`${options.name} cannot start: ${error.message}`)));
  });
  return follow(child, options);
}

type Started = Process & { readonly child: ChildProcess };

/** Collects the output of the process and handles its end. */
function follow(child: ChildProcessByStdio<null, Readable, Readable>, options: StartOptions): Started {
  const { name, lastSignal = "SIGTERM", onOutput } = options;
  const { pid } = child;
  if (pid === undefined) throw new Error(`${name} has no process id`);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      text = (text + chunk).slice(-outputLimit);
      onOutput?.(chunk);
    });
  }
  const killGroup = () => {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // The group has no process left.
    }
  };
  let exit: Exit | undefined;
  endWithUs(pid, lastSignal);
  // The process itself has ended. Remaining processes of its group would keep its output open.
  child.once("exit", killGroup);
  const exited = new Promise<Exit>((resolve) => {
    child.once("close", (code, signal) => {
      forgetGroup(pid);
      exit = { code, signal };
      resolve(exit);
    });
  });
  setKeepsAlive(child, false);
  const ended = () => {
    setKeepsAlive(child, true);
    return exited;
  };
  return {
    child,
    name,
    pid,
    exited,
    ended,
    exit: () => exit,
    output: () => text,
    tail: (lines = 30) => text.trimEnd().split("\n").slice(-lines).join("\n"),
    waitForOutput: (pattern, { timeout, since = 0 } = {}) =>
      waitFor(() => text.slice(since).match(pattern), { what: `${pattern} in the output of ${name}`, timeout }),
    signal: (signal) => void child.kill(signal),
    async stop(deadline = 10_000) {
      child.kill("SIGTERM");
      const timer = setTimeout(killGroup, deadline);
      try {
        return await ended();
      } finally {
        clearTimeout(timer);
      }
    },
    kill9() {
      killGroup();
      return ended();
    },
  };
}

/**
 * Sets whether the process keeps the event loop of this process alive: only while it is awaited, so that a failed suite
 * can end while its processes run.
 */
function setKeepsAlive(child: ChildProcessByStdio<null, Readable, Readable>, keepsAlive: boolean): void {
  for (const part of [child, child.stdout as Socket, child.stderr as Socket]) {
    if (keepsAlive) part.ref();
    else part.unref();
  }
}

function describe(ended: Process): string {
  const exit = ended.exit();
  return exit?.signal ? `signal ${exit.signal}` : `exit code ${exit?.code}`;
}
