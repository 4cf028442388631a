/**
 * Requests to one address until they are stopped. A part comes on connections of its own, a part on connections that are
 * kept. Runs in a pod: imports nothing of the repository.
 */
import { Agent, type ClientRequest, request } from "node:http";
import { setTimeout as pause } from "node:timers/promises";

export interface LoadOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds between two requests on each of both ways. Default 20. */
  readonly every?: number;
}

export interface LoadReport {
  readonly statuses: Readonly<Record<string, number>>;
  /** Words of errors, with how often each came. */
  readonly failures: Readonly<Record<string, number>>;
  /** Values of the header `x-request` of the requests that failed. */
  readonly failed: readonly string[];
  /**
   * When nobody listened where a Service led to, in milliseconds since the beginning. Nothing was sent then: another
   * connection is tried.
   */
  readonly refused: readonly number[];
  /** How often a kept connection was gone before the answer began. It is asked again then (RFC 9112, 9.3.1). */
  readonly reused: number;
}

export interface Load {
  /** Resolves when what is under way has been answered, or has failed. */
  stop(): Promise<LoadReport>;
}

const add = (counts: Record<string, number>, what: string): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

export function startLoad({ url, headers, every = 20 }: LoadOptions): Load {
  const statuses: Record<string, number> = {};
  const failures: Record<string, number> = {};
  const failed: string[] = [];
  const refused: number[] = [];
  const began = performance.now();
  let reused = 0;
  let sent = 0;
  let going = true;

  function ask(agent: Agent, id: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const once = { agent, headers: { ...headers, "x-request": id }, timeout: 10_000 };
      const asked: ClientRequest = request(url, once, (response) => {
        response.once("error", reject).once("end", () => resolve(response.statusCode ?? 0));
        response.resume();
      });
      asked.once("timeout", () => asked.destroy(new Error("no answer within 10 s")));
      asked.once("error", (error: NodeJS.ErrnoException) => {
        if (asked.reusedSocket) reused += 1;
        else if (error.code === "ECONNREFUSED") refused.push(Math.round(performance.now() - began));
        else return reject(error);
        pause(every).then(() => ask(agent, id).then(resolve, reject));
      });
      asked.end();
    });
  }

  async function follow(agent: Agent): Promise<void> {
    const underWay = new Set<Promise<void>>();
    while (going) {
      const id = String(++sent);
      const one = ask(agent, id).then(
        (status) => add(statuses, String(status)),
        (error: Error) => {
          failed.push(id);
          add(failures, error.message);
        },
      );
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
      await pause(every);
    }
    await Promise.all(underWay);
    agent.destroy();
  }

  const both = [new Agent({ keepAlive: false }), new Agent({ keepAlive: true, maxSockets: 4 })].map(follow);
  return {
    async stop() {
      going = false;
      await Promise.all(both);
      return { statuses, failures, failed, refused, reused };
    },
  };
}
