/** Runs the processes of the product together. If one of them fails during the start, all are stopped. */
import { mkdirSync } from "node:fs";
import { buildPrograms } from "../build/programs.ts";
import { type Process, startProcess, waitFor } from "../process/index.ts";
import { createPartLog } from "./logs.ts";
import { StartError } from "./ports.ts";
import type { Env, PartName, ProductPart } from "./processes.ts";

export interface Product {
  /** The current process of a part. */
  part(name: PartName): Process;
  /** Ends a part with KILL, like a crash; it is not reported as failed. */
  kill9(name: PartName): Promise<void>;
  /** Ends a part with TERM, like the deletion of its Pod; it is not reported as failed. */
  terminate(name: PartName): Promise<void>;
  /** Starts an ended part again, with its own settings and those of `env`. Does not wait until the part is ready. */
  start(name: PartName, env?: Env): Promise<Process>;
  /** Resolves when a part ends by itself, to a report with the part's name and last lines. */
  readonly failed: Promise<string>;
  /** Drains and stops everything: the admin listener before the operator, and the nodes before the user API. */
  stop(): Promise<void>;
}

export interface ProductOptions {
  readonly parts: readonly ProductPart[];
  /** Folder of the parts' logs. */
  readonly logs: string;
  /** Called with warnings and errors of the parts, one line each. Default: ignored. */
  readonly show?: (line: string) => void;
  /** Throws or rejects until every part of the product is ready. */
  readonly ready: () => unknown;
  /** The condition of `ready`, as the end of the sentence "waited 60 s for …". */
  readonly what: string;
  /** Milliseconds until the product must be ready. Default 60,000. */
  readonly timeout?: number;
}

/**
 * Builds the programs, and starts them.
 *
 * @throws StartError with the last lines of a part that ended; Error when the product is not ready in time.
 */
export async function runProduct(options: ProductOptions): Promise<Product> {
  const { parts, logs, show = () => {}, ready, what, timeout = 60_000 } = options;
  await buildPrograms();
  const processes = new Map<PartName, Process>();
  let stopping = false;
  let fail: (report: string) => void = () => {};
  const failed = new Promise<string>((resolve) => {
    fail = resolve;
  });
  mkdirSync(logs, { recursive: true });

  function part(name: PartName): Process {
    const process = processes.get(name);
    if (!process) throw new Error(`${name} was never started`);
    return process;
  }

  async function start(name: PartName, env: Env = {}): Promise<Process> {
    const known = parts.find((candidate) => candidate.name === name);
    if (!known) throw new Error(`the product has no part ${name}`);
    const onOutput = createPartLog(name, { folder: logs, show });
    const started = await startProcess(process.execPath, known.args, {
      name,
      env: { ...known.env, ...env },
      onOutput,
    });
    processes.set(name, started);
    void started.exited.then(({ code, signal }) => {
      if (stopping || ended.has(started)) return;
      fail(`${name} has ended (${signal ?? `exit code ${code}`}). Its last lines:\n${started.tail(15)}`);
    });
    return started;
  }
  const ended = new Set<Process>();

  async function stop(): Promise<void> {
    stopping = true;
    for (const names of stopOrder) await Promise.all(names.map((name) => processes.get(name)?.stop()));
  }

  try {
    await Promise.all(parts.map(({ name }) => start(name)));
    const broken = failed.then((report) => {
      throw new StartError(report);
    });
    await Promise.race([broken, waitFor(ready, { timeout, what })]);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    part,
    async kill9(name) {
      const process = part(name);
      ended.add(process);
      await process.kill9();
    },
    async terminate(name) {
      const process = part(name);
      ended.add(process);
      await process.stop();
    },
    start,
    failed,
    stop,
  };
}

/** The parts in the order in which they stop: the admin listener waits for the operator, and nodes for the user API. */
const stopOrder: readonly (readonly PartName[])[] = [["admin"], ["operator", "gateway-1", "gateway-2"], ["user-api"]];

export interface ProductTexts {
  /** Printed only after the handlers of Ctrl-C are installed: the user may press Ctrl-C right away. */
  readonly greeting: string;
  /** Printed when the product stops. */
  readonly stopping?: string;
}

/**
 * Waits for Ctrl-C (or TERM or HUP) or until a part ends by itself, then stops everything.
 *
 * @returns the exit code: 1 if a part ended by itself, else 0.
 */
export async function untilStopped(
  product: Pick<Product, "failed" | "stop">,
  { greeting, stopping = "Stopping: requests under way are finished first." }: ProductTexts,
): Promise<number> {
  // Neither signal handlers nor the product's processes keep the event loop alive.
  const alive = setInterval(() => {}, 60_000);
  const stopped = new Promise<null>((resolve) => {
    // Ctrl-C arrives twice: from the terminal, which signals all its processes, and from npm. The product drains once.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve(null));
  });
  console.log(greeting);
  const report = await Promise.race([stopped, product.failed]);
  clearInterval(alive);
  if (report !== null) console.error(report);
  console.log(stopping);
  await product.stop();
  console.log("Stopped.");
  return report === null ? 0 : 1;
}
