/** Runs the processes of the product together: all or none. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isFree } from "../process/free-port.ts";
import { type Process, startProcess, waitFor } from "../process/index.ts";
import { addresses, type Chosen, type Part } from "./processes.ts";

/** Something that a person can mend; shown as one line, without a stack. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** Names the first port that is taken and the setting that moves it. */
export async function refuseTakenPorts(chosen: Chosen): Promise<void> {
  for (const [name, { setting, what }] of Object.entries(addresses)) {
    const address = chosen[name as keyof Chosen];
    const port = Number(address.slice(address.lastIndexOf(":") + 1));
    if (!(await isFree(port)))
      throw new StartError(
        `port ${port} (${what}) is in use: stop what listens there, or choose another with ${setting}`,
      );
  }
}

export interface Product {
  readonly processes: ReadonlyMap<string, Process>;
  /** Settles when a process ends that nobody stopped, with its name. */
  readonly failed: Promise<string>;
  /** Drains and stops everything, in the reverse order. */
  stop(): Promise<void>;
}

export interface RunOptions {
  readonly parts: readonly Part[];
  /** Where each process's log is written when the product stops, and at a failure. */
  readonly logs: string;
  /** Answers without throwing once the product works as a whole. */
  readonly ready: () => Promise<unknown>;
  readonly timeout?: number;
}

export async function runProduct({ parts, logs, ready, timeout = 60_000 }: RunOptions): Promise<Product> {
  const processes = new Map<string, Process>();
  let stopping = false;
  let fail: (name: string) => void = () => {};
  const failed = new Promise<string>((resolve) => {
    fail = resolve;
  });

  async function stop(): Promise<void> {
    stopping = true;
    mkdirSync(logs, { recursive: true });
    for (const [name, process] of [...processes].reverse()) {
      await process.stop();
      writeFileSync(join(logs, `${name}.log`), process.output());
    }
  }

  try {
    await Promise.all(
      parts.map(async ({ name, args, env }) => {
        const started = await startProcess(process.execPath, args, { name, env });
        processes.set(name, started);
        void started.exited.then(() => {
          if (!stopping) fail(name);
        });
      }),
    );
    const broken = failed.then((name) => {
      throw new StartError(`${name} has ended:\n${processes.get(name)?.tail(15)}`);
    });
    await Promise.race([broken, waitFor(ready, { timeout, what: "a request answered through both nodes" })]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { processes, failed, stop };
}
