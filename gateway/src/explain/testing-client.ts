/** Sends random requests to a proxy, over HTTP/1.1 and HTTP/2, and describes them for an explanation. */
import { Agent, request as sendHttp1 } from "node:http";
import { type ClientHttp2Session, connect as openHttp2 } from "node:http2";
import { connect } from "node:net";
import type { RandomRequest } from "./testing-documents.ts";

export interface ClientResponse {
  readonly status: number;
  /** The headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** All headers, in the order in which they are sent. */
function headersOf({ host, headers, http_version, body, isChunked }: RandomRequest): (readonly [string, string])[] {
  const framing = isChunked
    ? (["Transfer-Encoding", "chunked"] as const)
    : (["Content-Length", String(body?.length)] as const);
  return [
    ...(http_version === "2"
      ? []
      : ([
          ["Host", host],
          ["Connection", "keep-alive"],
        ] as const)),
    ...headers,
    ...(body === null ? [] : [framing]),
  ];
}

/** The ports of the proxy. */
export interface ProxyPorts {
  readonly port: number;
  /** Ports of the document's listeners. */
  readonly listenerPorts: readonly number[];
}

const portOf = ({ listener }: RandomRequest, { port, listenerPorts }: ProxyPorts): number =>
  listener === null ? port : (listenerPorts[listener] ?? port);

export function describedRequest(request: RandomRequest, ports: ProxyPorts): object {
  const { method, target, host, client_address, http_version, body, listener } = request;
  const port = portOf(request, ports);
  const isHttp2 = http_version === "2";
  const headers = headersOf(request).map(([name, value]) => [name, [value]] as const);
  return {
    method,
    // The port of the listener is that of the URL; over HTTP/2 there is no Host header that could differ from it.
    url: `http://${isHttp2 ? host : `127.0.0.1:${port}`}${target}`,
    headers: Object.fromEntries(headers),
    client_address,
    http_version,
    ...(listener !== null && { port }),
    ...(body !== null && { body }),
  };
}

export class RandomRequestClient implements Disposable {
  readonly #ports: ProxyPorts;
  readonly #agent = new Agent({ keepAlive: true });
  /** By address and port. */
  readonly #sessions = new Map<string, ClientHttp2Session>();

  constructor(ports: ProxyPorts) {
    this.#ports = ports;
  }

  send(request: RandomRequest): Promise<ClientResponse> {
    return request.http_version === "2" ? this.#sendHttp2(request) : this.#sendHttp1(request);
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
    for (const session of this.#sessions.values()) session.destroy();
  }

  #sendHttp1(request: RandomRequest): Promise<ClientResponse> {
    const { method, target: path, client_address: localAddress, body } = request;
    const { promise, resolve, reject } = Promise.withResolvers<ClientResponse>();
    const outgoing = sendHttp1(
      {
        host: "127.0.0.1",
        port: portOf(request, this.#ports),
        agent: this.#agent,
        localAddress,
        method,
        path,
        headers: headersOf(request).flat(),
      },
      (incoming) => {
        const pieces: Buffer[] = [];
        incoming.on("data", (piece) => pieces.push(piece));
        incoming.on("error", reject);
        incoming.on("end", () => {
          const { statusCode: status = 0, headers } = incoming;
          resolve({ status, headers, body: String(Buffer.concat(pieces)) });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body ?? undefined);
    return promise;
  }

  #sendHttp2(request: RandomRequest): Promise<ClientResponse> {
    const { method, target, host, body } = request;
    const { promise, resolve, reject } = Promise.withResolvers<ClientResponse>();
    const pseudo = { ":method": method, ":path": target, ":authority": host, ":scheme": "http" };
    const headers = Object.fromEntries(headersOf(request).map(([name, value]) => [name.toLowerCase(), value]));
    const stream = this.#session(request).request({ ...pseudo, ...headers }, { endStream: body === null });
    const pieces: Buffer[] = [];
    stream.on("error", reject);
    stream.on("response", (head) => {
      stream.on("data", (piece: Buffer) => pieces.push(piece));
      stream.on("end", () => {
        const { ":status": status = 0, ...all } = head;
        resolve({ status, headers: all as ClientResponse["headers"], body: String(Buffer.concat(pieces)) });
      });
    });
    if (body !== null) stream.end(body);
    return promise;
  }

  #session(request: RandomRequest): ClientHttp2Session {
    const { client_address: localAddress } = request;
    const port = portOf(request, this.#ports);
    const key = `${localAddress} ${port}`;
    const open = this.#sessions.get(key);
    if (open !== undefined && !open.closed && !open.destroyed) return open;
    const createConnection = () => connect({ host: "127.0.0.1", port, localAddress });
    const session = openHttp2(`http://127.0.0.1:${port}`, { createConnection });
    session.on("error", () => {});
    this.#sessions.set(key, session);
    return session;
  }
}
