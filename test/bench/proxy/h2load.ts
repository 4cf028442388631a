/** HTTP/2 load by h2load: one thread, connections with several concurrent streams, one kind of request. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import type { WrkResult } from "./wrk.ts";

export interface H2loadOptions {
  /** An https URL, or an http URL for HTTP/2 with prior knowledge. */
  readonly url: string;
  readonly seconds: number;
  /** The folder of the request log. */
  readonly folder: string;
  readonly connections: number;
  /** Concurrent requests per connection. */
  readonly streams: number;
  /** Further headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The file with the body of each request, which is then a POST. Default: GET requests without a body. */
  readonly bodyFile?: string;
  /** Bytes of each response's body, to recognise errors that have status 200. Default: not checked. */
  readonly responseBytes?: number;
}

/** The last requests of a run may end while h2load counts, so that it counts their bodies but not the requests. */
const COUNTED = 0.99;

/** Rejects when h2load is missing, cannot connect, does not get HTTP/2, or receives too few bytes. */
export async function runH2load(options: H2loadOptions): Promise<WrkResult> {
  const { url, seconds, folder, connections, streams, headers = {}, bodyFile, responseBytes = 0 } = options;
  const log = join(folder, "h2load.log");
  // h2load appends to an existing log.
  rmSync(log, { force: true });
  const load = ["-t1", `-c${connections}`, `-m${streams}`, `-D${seconds}`, `--log-file=${log}`];
  const lines = Object.entries({ apikey: "key-5", ...headers }).map(([name, value]) => `-H${name}: ${value}`);
  const args = [...load, ...lines, ...(bodyFile === undefined ? [] : [`-d${bodyFile}`]), url];
  const h2load = await startProcess(await obtainTool("h2load"), args, { name: "h2load" });
  await h2load.ended();
  const output = h2load.output();
  const count = (word: string) => Number(new RegExp(`(\\d+) ${word}`).exec(output)?.[1] ?? Number.NaN);
  const [requests, succeeded] = [count("done"), count("succeeded")];
  if (!(requests > 0) || !/h2/.test(/Application protocol: (\S+)/.exec(output)?.[1] ?? ""))
    throw new Error(`h2load reported no result for ${url} over HTTP/2:\n${h2load.tail()}`);
  // The numbers of statuses, errors and timeouts show why requests failed.
  if (succeeded < requests) console.log(h2load.tail());
  const received = Number(/\((\d+)\) data/.exec(output)?.[1]);
  if (!(received >= requests * responseBytes * COUNTED))
    throw new Error(`${requests} responses had ${received} bytes, not ${responseBytes} each:\n${h2load.tail()}`);
  // Each line: start time, status, microseconds until the end.
  const took = readFileSync(log, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => Number(line.split("\t")[2]))
    .sort((one, other) => one - other);
  const percentile = (share: number) => (took[Math.floor(took.length * share)] ?? Number.NaN) / 1000;
  return { requests, seconds, failures: requests - succeeded, p50: percentile(0.5), p99: percentile(0.99) };
}
