import { setTimeout as pause } from "node:timers/promises";
import { builtProgram } from "../../../tools/build/programs.ts";
import type { PushCertificateFiles } from "../../../tools/cluster/push-certificates.ts";
import { freePort, type Process, startProcess, waitFor } from "../../../tools/process/index.ts";
import { cpuSeconds } from "../cpu.ts";
import { NAMESPACE } from "./population.ts";

export interface OperatorProcessOptions {
  readonly kubeconfig: string;
  readonly certificates: PushCertificateFiles;
  /** Base addresses of push listeners. */
  readonly nodes: readonly string[];
  /** More settings. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export interface RunningOperator {
  readonly process: Process;
  /** The start of the process on the clock of `performance.now`. */
  readonly startedAt: number;
  /** Waits until this number of nodes has acknowledged the latest document. */
  untilAcknowledged(nodes: number, timeout?: number): Promise<void>;
  /** Waits until no work is queued and no status has been written for two seconds. */
  untilSettled(): Promise<void>;
  /** The sum of a metric's values over all its series. */
  metric(name: string): Promise<number>;
  /** Seconds of CPU time so far. */
  cpu(): number;
  stop(): Promise<unknown>;
}

interface Status {
  readonly revision: number;
  readonly acknowledged: readonly string[];
}

export async function startOperatorProcess(options: OperatorProcessOptions): Promise<RunningOperator> {
  const { kubeconfig, certificates, nodes, env } = options;
  const port = await freePort();
  const startedAt = performance.now();
  const started = await startProcess(process.execPath, [...flags(), await builtProgram("operator")], {
    name: "operator",
    ready: `http://127.0.0.1:${port}/healthz`,
    env: {
      MALLOC_ARENA_MAX: "2",
      KUBECONFIG: kubeconfig,
      SLUICE_HOME_NAMESPACE: NAMESPACE,
      SLUICE_DIRECTORY: undefined,
      SLUICE_OPERATOR_LISTEN: `127.0.0.1:${port}`,
      SLUICE_NODES: nodes.join(","),
      SLUICE_LOG_LEVEL: "warn",
      ...env,
      ...certificates.operator,
    },
    onOutput: (piece) => process.stderr.write(piece),
  });

  async function get(path: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return response.text();
  }

  async function metric(name: string): Promise<number> {
    const lines = (await get("/metrics")).split("\n");
    const own = lines.filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
    return own.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  }

  /** Aborted when the process ends, so that `untilAcknowledged` does not wait for an operator that has ended. */
  const ended = new AbortController();
  started.exited.then(({ code }) => ended.abort(new Error(`the operator has ended with ${code}:\n${started.tail()}`)));

  return {
    process: started,
    startedAt,
    async untilAcknowledged(count, timeout = 120_000) {
      const isAcknowledged = async () => {
        const { revision, acknowledged } = JSON.parse(await get("/status")) as Status;
        return revision > 0 && acknowledged.length >= count;
      };
      await waitFor(isAcknowledged, {
        what: `${count} nodes to have the document`,
        timeout,
        interval: 50,
        signal: ended.signal,
      });
    },
    async untilSettled() {
      for (let [last, quiet] = [-1, 0]; quiet < 2; ) {
        const now = await metric("sluice_operator_status_writes_total");
        const waiting = await metric("workqueue_depth");
        quiet = now === last && waiting === 0 ? quiet + 1 : 0;
        last = now;
        await pause(1000);
      }
    },
    metric,
    cpu: () => cpuSeconds(started.pid),
    stop: () => started.stop(),
  };
}

/** The flags in the first line of the built operator, and those in BENCH_OPERATOR_FLAGS, such as `--cpu-prof`. */
const flags = (): readonly string[] => [
  "--conditions=built",
  "--max-semi-space-size=8",
  "--heap-growing-percent=30",
  ...(process.env.BENCH_OPERATOR_FLAGS?.split(" ").filter(Boolean) ?? []),
];
