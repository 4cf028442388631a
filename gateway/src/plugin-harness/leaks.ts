/** Measures whether requests leave anything in memory. */
import { Agent, get } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { LeakOptions, TestGateway } from "./types.ts";

const ROUNDS = 5;
/** Number of concurrent requests. */
const CONCURRENCY = 8;
/** Bytes per request. Over 2,000 requests, noise of V8's heap is below this limit, and every kept object above it. */
const THRESHOLD = 32;

/** Sends requests in less time than `fetch`. `close` ends the connections. */
function requestSender(): { readonly send: (gateway: TestGateway) => Promise<void>; close(): void } {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY });
  return {
    send: ({ url }) =>
      new Promise((resolve, reject) => {
        get(url, { agent }, (response) => void response.resume().once("end", resolve)).once("error", reject);
      }),
    close: () => agent.destroy(),
  };
}

/**
 * Rejects if the process keeps at least 32 bytes for each request. The requests are sent in up to five rounds, and a
 * leak is growth by at least this amount in each round after the first, so no round follows one with less growth. Node
 * needs no flag, such as --expose-gc.
 */
export async function leaksNothing(gateway: TestGateway, options: LeakOptions = {}): Promise<void> {
  const bytes = await findLeak(gateway, options);
  if (bytes !== null) throw new Error(`each request leaves about ${bytes} bytes in memory`);
}

/**
 * Bytes that each request leaves; null: fewer than THRESHOLD. A leak grows in every round; caches that fill and code
 * that is compiled do not, so the result is the growth in the round with the least growth.
 */
async function findLeak(gateway: TestGateway, options: LeakOptions): Promise<number | null> {
  const sender = requestSender();
  const { requests = 10_000, send = sender.send } = options;
  const each = Math.ceil(requests / ROUNDS);
  let number = 0;
  async function sendAll(): Promise<void> {
    const last = number + each;
    const sendNext = async (): Promise<void> => {
      while (number < last) await send(gateway, number++);
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, sendNext));
  }
  let least = Number.POSITIVE_INFINITY;
  try {
    await sendAll();
    let before = heapUsed();
    for (let round = 2; round <= ROUNDS && least >= THRESHOLD; round++) {
      await sendAll();
      const after = heapUsed();
      least = Math.min(least, Math.round((after - before) / each));
      before = after;
    }
  } finally {
    sender.close();
  }
  return least >= THRESHOLD ? least : null;
}

function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
