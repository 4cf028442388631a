/**
 * A proxy that injects faults between an operator and the real API server: it answers in the server's place, delays
 * requests, or falls silent without closing a connection. It speaks plain HTTP to the operator, so that it can read
 * the requests.
 */
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

/** What the proxy does with a request instead of passing it on at once. */
type Answer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** Milliseconds until the request is passed on. */
  | { readonly delay: number }
  /** The request is never answered. */
  | "silence";

export interface RecordedApiRequest {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
  /** The status of the response; undefined: none yet. 410 also for a watch that ends with this error in its stream. */
  status?: number;
}

export interface ApiProxy {
  readonly url: string;
  /** All requests so far, in order. */
  readonly asked: readonly RecordedApiRequest[];
  /**
   * Sets a function that answers in place of the server. Requests for which it returns undefined are passed on. Null:
   * all requests are passed on.
   */
  spoil(answer: ((asked: RecordedApiRequest) => Answer | undefined) | null): void;
  /** Cuts all open responses, including watches. */
  cut(): void;
  /** Sends nothing more on open responses, and does not end them. New requests are passed on. */
  silence(): void;
  /** Stops listening: open connections are cut, and new ones are refused. */
  leave(): Promise<void>;
  /** After `leave`: listens at the same address again. */
  comeBack(): Promise<void>;
  close(): Promise<void>;
}

export interface ApiProxyOptions {
  /**
   * Credentials with which requests are passed on: those of the kubeconfig ("its own", the default), or the caller's.
   */
  readonly identity?: "its own" | "callers";
}

/** @param kubeconfig Path of a kubeconfig in JSON, whose user has a client certificate. */
export async function startApiProxy(kubeconfig: string, options: ApiProxyOptions = {}): Promise<ApiProxy> {
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, "utf8"));
  const { server, "certificate-authority-data": authority } = clusters[0].cluster;
  const decode = (text: string | undefined) => (text === undefined ? undefined : Buffer.from(text, "base64"));
  const { "client-certificate-data": certificate, "client-key-data": key } = users[0].user;
  const own = options.identity === "callers" ? {} : { cert: decode(certificate), key: decode(key) };
  const agent = new Agent({ keepAlive: true, ca: decode(authority), ...own });
  const asked: RecordedApiRequest[] = [];
  const flowing = new Map<ServerResponse, IncomingMessage>();
  let answer: ((asked: RecordedApiRequest) => Answer | undefined) | null = null;

  function pass(incoming: IncomingMessage, response: ServerResponse, one: RecordedApiRequest): void {
    const headers = { ...incoming.headers };
    const options = { method: incoming.method, headers, agent };
    const outgoing = request(`${server}${incoming.url}`, options, (answered) => {
      one.status = answered.statusCode;
      response.writeHead(answered.statusCode ?? 502, answered.headers);
      // Sends the head at once, so that the operator sees that its watch is open even before the first event.
      response.flushHeaders();
      flowing.set(response, answered);
      answered.on("error", () => response.destroy());
      answered.on("data", (chunk: Buffer) => {
        if (chunk.includes('"type":"ERROR"') && chunk.includes('"code":410')) one.status = 410;
      });
      answered.pipe(response);
    });
    outgoing.on("error", () => response.destroy());
    response.on("close", () => {
      flowing.delete(response);
      outgoing.destroy();
    });
    incoming.pipe(outgoing);
  }

  const listener = createServer(async (incoming, response) => {
    const one: RecordedApiRequest = { method: incoming.method ?? "", path: incoming.url ?? "" };
    asked.push(one);
    const instead = answer?.(one);
    if (instead === "silence") return;
    if (instead && "delay" in instead) {
      await pause(instead.delay);
      if (response.destroyed) return;
    } else if (instead) {
      one.status = instead.status;
      incoming.resume();
      response.writeHead(instead.status, instead.headers).end(instead.body);
      return;
    }
    pass(incoming, response, one);
  });
  const listen = (port: number) => new Promise<void>((resolve) => listener.listen(port, "127.0.0.1", resolve));
  const leave = () => {
    const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
    listener.closeAllConnections();
    return closed;
  };
  await listen(0);
  const { port } = listener.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    spoil(next) {
      answer = next;
    },
    cut() {
      for (const response of flowing.keys()) response.destroy();
    },
    silence() {
      for (const [response, answered] of flowing) {
        answered.unpipe(response);
        answered.removeAllListeners("error").on("error", () => {});
        answered.resume();
      }
    },
    leave,
    comeBack: () => listen(port),
    close() {
      agent.destroy();
      return leave();
    },
  };
}
