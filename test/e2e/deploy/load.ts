/**
 * Sends requests to one address until it is stopped: some on new connections, some on keep-alive connections. This file
 * runs in a pod, so it imports nothing from the repository.
 */
import { Agent, type ClientRequest, request } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

export interface CallLoadOptions {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Milliseconds between two requests on new connections, and between two on keep-alive ones. Default 20. */
  readonly every?: number;
  /** Milliseconds of silence after which a request has failed. Default 10,000. */
  readonly patience?: number;
}

export interface LoadReport {
  /** Prefix of the ids of the load's requests. Each request has its own id, in the header `x-request-id`. */
  readonly name: string;
  readonly statuses: Readonly<Record<string, number>>;
  /** Error messages with their counts. */
  readonly failures: Readonly<Record<string, number>>;
  /** Ids of the requests that failed. */
  readonly failed: readonly string[];
  /** Times at which the first and the last failed request were sent (ISO 8601). Undefined: no request failed. */
  readonly failedFrom?: readonly [first: string, last: string];
  /** Duration of the slowest answered request in milliseconds. */
  readonly slowest: number;
  /**
   * Times at which a connection was refused, in milliseconds since the start. Nothing had been sent, so the request is
   * tried on another connection.
   */
  readonly refused: readonly number[];
  /**
   * Ids of the requests whose keep-alive connection ended before the first byte of the response. They are sent again
   * once, on a new connection. Only the server knows whether it had read them.
   */
  readonly repeated: readonly string[];
  /** The number of connections opened for keep-alive. */
  readonly connections: number;
}

export interface CallLoad {
  /** Sends no further requests. Resolves when all requests in flight have been answered or have failed. */
  stop(): Promise<LoadReport>;
}

/** Maximum number of keep-alive connections at a time. */
export const keptAtATime = 4;

/** Error codes of a connection that the other side has closed. */
const closed: ReadonlySet<string | undefined> = new Set(["ECONNRESET", "EPIPE"]);

const add = (counts: Record<string, number>, what: string): void => {
  counts[what] = (counts[what] ?? 0) + 1;
};

export function startLoad({ url, headers, every = 20, patience = 10_000 }: CallLoadOptions): CallLoad {
  const name = crypto.randomUUID().slice(0, 8);
  const statuses: Record<string, number> = {};
  const failures: Record<string, number> = {};
  const failed: string[] = [];
  let failedFrom: LoadReport["failedFrom"];
  let slowest = 0;
  const refused: number[] = [];
  const repeated: string[] = [];
  const began = performance.now();
  const own = new Agent({ keepAlive: false });
  const kept = new Agent({ keepAlive: true, maxSockets: keptAtATime });
  let connections = 0;
  let sent = 0;
  let going = true;
  let stopped = Number.POSITIVE_INFINITY;

  function ask(agent: Agent, id: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const once = { agent, headers: { ...headers, "x-request-id": id }, timeout: patience };
      let socket: Socket | undefined;
      let before = 0;
      const asked: ClientRequest = request(url, once, (response) => {
        response.once("error", reject).once("end", () => resolve(response.statusCode ?? 0));
        response.resume();
      });
      asked.once("socket", (given: Socket) => {
        socket = given;
        before = given.bytesRead;
        if (agent === kept && before === 0) connections += 1;
      });
      asked.once("timeout", () => asked.destroy(new Error(`no answer within ${patience / 1000} s`)));
      asked.once("error", (error: NodeJS.ErrnoException) => {
        const isRefused = error.code === "ECONNREFUSED";
        // RFC 9110, 9.2.2. A retry is never repeated: its new connection has not received any response before.
        const mayRepeat = closed.has(error.code) && before > 0 && socket?.bytesRead === before;
        if (isRefused) refused.push(Math.round(performance.now() - began));
        else if (mayRepeat) repeated.push(id);
        else return reject(error);
        if (performance.now() - stopped > patience)
          return reject(
            new Error(`still no response ${patience / 1000} s after the end of the load: ${error.message}`),
          );
        pause(every).then(() => ask(isRefused ? agent : own, id).then(resolve, reject));
      });
      asked.end();
    });
  }

  async function follow(agent: Agent): Promise<void> {
    const underWay = new Set<Promise<void>>();
    while (going) {
      const id = `${name}.${++sent}`;
      const at = new Date();
      const one = ask(agent, id).then(
        (status) => {
          slowest = Math.max(slowest, Date.now() - at.getTime());
          add(statuses, String(status));
        },
        (error: Error) => {
          failed.push(id);
          const times = [at.toISOString(), ...(failedFrom ?? [])].toSorted();
          failedFrom = [String(times[0]), String(times.at(-1))];
          add(failures, error.message);
        },
      );
      underWay.add(one);
      void one.finally(() => underWay.delete(one));
      await pause(every);
    }
    await Promise.all(underWay);
  }

  const both = [own, kept].map(follow);
  return {
    async stop() {
      going = false;
      stopped = performance.now();
      await Promise.all(both);
      kept.destroy();
      const failure = failedFrom === undefined ? {} : { failedFrom };
      return { name, statuses, failures, failed, ...failure, slowest, refused, repeated, connections };
    },
  };
}
