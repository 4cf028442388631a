/** Requests to a node's proxy that use little CPU, because all processes share two cores. */
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

export interface MeasuredTarget {
  /** Default 127.0.0.1. */
  readonly address?: string;
  readonly port: number;
  readonly path: string;
  /** The Host. Default: the address. */
  readonly host?: string;
}

/** Status of the response to a GET. */
async function ask({ address = "127.0.0.1", port, path, host }: MeasuredTarget): Promise<number> {
  const outgoing = request({ host: address, port, path, agent, ...(host !== undefined && { headers: { host } }) });
  outgoing.end();
  const [answer] = (await once(outgoing, "response")) as [IncomingMessage];
  answer.resume();
  await once(answer, "end");
  return answer.statusCode ?? 0;
}

export interface UntilOptions {
  /** Milliseconds between two requests. Default 1. */
  readonly interval?: number;
  /** Milliseconds. Default 30,000. */
  readonly timeout?: number;
}

/**
 * Sends requests until the proxy answers 200. Resolves to the time of that response by `performance.now`; rejects after
 * the timeout.
 */
export async function untilServed(target: MeasuredTarget, options: UntilOptions = {}): Promise<number> {
  const { interval = 1, timeout = 30_000 } = options;
  const end = performance.now() + timeout;
  for (;;) {
    // A port that is not open yet refuses connections.
    const status = await ask(target).catch(() => 0);
    const now = performance.now();
    if (status === 200) return now;
    if (now > end) throw new Error(`${target.path} was still answered with ${status} after ${timeout / 1000} s`);
    await pause(interval);
  }
}

export function closeProxyConnections(): void {
  agent.destroy();
}
