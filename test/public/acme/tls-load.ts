/** Load over TLS: requests on kept connections and on new ones, each with a verified handshake. */
import { Agent, request } from "node:https";
import { setTimeout as pause } from "node:timers/promises";

export interface TlsTarget {
  readonly host: string;
  readonly port: number;
  readonly servername: string;
  /** The root of the target's certificate, PEM. */
  readonly ca: string;
}

export interface TlsLoad {
  readonly answered: number;
  /** Failed requests, one line each. */
  readonly failures: readonly string[];
  /** Kept connections that the server closed before the end. */
  readonly droppedConnections: number;
}

/** Milliseconds that a client pauses after a response. */
const BETWEEN = 20;
const CLIENTS = 2;

/**
 * Sends requests until the work is done: two clients with one kept connection each, two with a new one each time.
 *
 * @param work Receives a function that returns the number of responses with 200 up to now.
 */
export async function underTlsLoad(
  target: TlsTarget,
  work: (answered: () => number) => Promise<unknown>,
): Promise<TlsLoad> {
  const failures: string[] = [];
  let [over, answered, droppedConnections] = [false, 0, 0];
  const client = async (keepAlive: boolean) => {
    const agent = new Agent({ keepAlive, maxSockets: 1, maxCachedSessions: 0 });
    while (!over) {
      const failure = await failureOf(target, agent, () => {
        if (keepAlive && !over) droppedConnections++;
      });
      if (failure === null) answered++;
      else failures.push(`${new Date().toISOString()} ${failure}`);
      await pause(BETWEEN);
    }
    agent.destroy();
  };
  const clients = [true, false].flatMap((keepAlive) => Array.from({ length: CLIENTS }, () => client(keepAlive)));
  try {
    await work(() => answered);
  } finally {
    over = true;
    await Promise.all(clients);
  }
  return { answered, failures, droppedConnections };
}

const seen = new WeakSet<object>();

function failureOf(target: TlsTarget, agent: Agent, onClose: () => void): Promise<string | null> {
  return new Promise((resolve) => {
    const headers = { host: target.servername };
    const sent = request({ ...target, agent, headers, timeout: 10_000 }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200 ? null : `status ${response.statusCode}`));
      response.on("error", (error) => resolve(error.message));
    });
    sent.on("socket", (socket) => {
      if (seen.has(socket)) return;
      seen.add(socket);
      socket.on("close", onClose);
    });
    sent.on("timeout", () => sent.destroy(new Error("no answer within 10 s")));
    sent.on("error", (error) => resolve(error.message));
    sent.end();
  });
}
