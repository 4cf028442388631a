/**
 * A load generator for one kind of request over keep-alive connections, cheap enough to share a machine with what it
 * measures: it scans only for the end of each response.
 */
import { connect, type Socket } from "node:net";

export interface LoadOptions {
  readonly host: string;
  readonly port: number;
  /** Request heads to send, in turn; no bodies. */
  readonly requests: readonly string[];
  readonly connections: number;
  readonly seconds: number;
}

export interface LoadResult {
  readonly requests: number;
  readonly seconds: number;
  /** Responses whose status was not 200. */
  readonly failures: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Bytes of the response's head and body, or 0 while the head is incomplete. Responses carry Content-Length. */
function responseLength(text: string): number {
  const end = text.indexOf("\r\n\r\n");
  if (end < 0) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, end + 2));
  if (!length) throw new Error(`a response without Content-Length: ${text.slice(0, end)}`);
  return end + 4 + Number(length[1]);
}

const percentile = (sorted: Float64Array, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

export async function load({ host, port, requests, connections, seconds }: LoadOptions): Promise<LoadResult> {
  const heads = requests.map((request) => Buffer.from(request, "latin1"));
  const latencies: number[] = [];
  let failures = 0;
  let turn = 0;
  const started = performance.now();
  const deadline = started + seconds * 1000;

  const run = (socket: Socket): Promise<void> =>
    new Promise((resolve, reject) => {
      let sent = 0;
      let pending = "";
      const send = () => {
        sent = performance.now();
        socket.write(heads[turn++ % heads.length] as Buffer);
      };
      socket.setNoDelay(true);
      socket.on("error", reject);
      socket.on("connect", send);
      socket.on("data", (chunk: Buffer) => {
        pending = pending === "" ? chunk.toString("latin1") : pending + chunk.toString("latin1");
        const length = responseLength(pending);
        if (length === 0 || pending.length < length) return;
        if (!pending.startsWith("HTTP/1.1 200")) failures++;
        pending = pending.slice(length);
        const now = performance.now();
        latencies.push(now - sent);
        if (now < deadline) return send();
        socket.destroy();
        resolve();
      });
    });

  await Promise.all(Array.from({ length: connections }, () => run(connect({ host, port }))));
  const sorted = Float64Array.from(latencies).sort();
  return {
    requests: latencies.length,
    seconds: (performance.now() - started) / 1000,
    failures,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
  };
}
