/** HTTP/2 load by h2load: one thread, connections with several concurrent streams, one kind of request. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import type { WrkResult } from "./wrk.ts";

export interface H2loadOptions {
  /** An https URL. */
  readonly url: string;
  readonly seconds: number;
  /** The folder of the request log. */
  readonly folder: string;
  readonly connections: number;
  /** Concurrent requests per connection. */
  readonly streams: number;
}

/** Rejects when h2load is missing, cannot connect or does not get HTTP/2. */
export async function runH2load({ url, seconds, folder, connections, streams }: H2loadOptions): Promise<WrkResult> {
  const log = join(folder, "h2load.log");
  // h2load appends to an existing log.
  rmSync(log, { force: true });
  const args = ["-t1", `-c${connections}`, `-m${streams}`, `-D${seconds}`, "-Hapikey: key-5", `--log-file=${log}`, url];
  const h2load = await startProcess(await obtainTool("h2load"), args, { name: "h2load" });
  await h2load.ended();
  const output = h2load.output();
  const count = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(output)?.[1] ?? Number.NaN);
  const [requests, succeeded] = [count("done"), count("succeeded")];
  if (!(requests > 0) || !/h2/.test(/Application protocol: (\S+)/.exec(output)?.[1] ?? ""))
    throw new Error(`h2load reported no result for ${url} over HTTP/2:\n${h2load.tail()}`);
  // Each line: start time, status, microseconds until the end.
  const took = readFileSync(log, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => Number(line.split("\t")[2]))
    .sort((one, other) => one - other);
  const percentile = (share: number) => (took[Math.floor(took.length * share)] ?? Number.NaN) / 1000;
  return { requests, seconds, failures: requests - succeeded, p50: percentile(0.5), p99: percentile(0.99) };
}
