/** From Node's request to what the pipeline takes. */
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import type { FaultName } from "../faults.ts";
import type { Traffic } from "../live-exchange.ts";
import { HOST, type RequestHead } from "../request.ts";
import { StreamedBody } from "../streamed-body.ts";

/** Fastify keeps the request target here when it is told to route by another. */
type Rewritten = IncomingMessage & { readonly originalUrl?: string };

export function headOf(incoming: Rewritten): RequestHead {
  const { headers, rawHeaders, socket } = incoming;
  const declared = headers["content-length"];
  const hasBody = headers["transfer-encoding"] !== undefined || (declared !== undefined && declared !== "0");
  return {
    method: incoming.method ?? "",
    target: incoming.originalUrl ?? incoming.url ?? "",
    httpVersion: incoming.httpVersion,
    fault: headFault(incoming),
    rawHeaders,
    peerAddress: socket.remoteAddress ?? "",
    port: socket.localPort ?? 0,
    ...security(socket),
    body: hasBody ? new StreamedBody(incoming, declared === undefined ? null : Number(declared)) : null,
    header(name) {
      const value = headers[name];
      return typeof value === "object" ? value.join(", ") : value;
    },
    headerValues(name) {
      const values: string[] = [];
      for (let at = 0; at < rawHeaders.length; at += 2) {
        const sent = rawHeaders[at] ?? "";
        if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? "");
      }
      return values;
    },
  };
}

/** Version, framing and host of a request; null when all is well. */
function headFault({ httpVersion, headers, rawHeaders }: IncomingMessage): FaultName | null {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "unknownVersion";
  const coding = headers["transfer-encoding"];
  // Of HTTP/1.0 its framing counts as faulty (RFC 9112 section 6.1); other codings are not for us to undo.
  if (coding !== undefined && httpVersion === "1.0") return "badRequest";
  if (coding !== undefined && coding.toLowerCase() !== "chunked") return "unknownCoding";
  if (!HOST.test(headers.host ?? "")) return "badRequest";
  const hosts = countHosts(rawHeaders);
  return hosts > 1 || (hosts === 0 && httpVersion === "1.1") ? "badRequest" : null;
}

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts;
}

function security(socket: Socket): Pick<RequestHead, "scheme" | "serverName" | "tlsVersion"> {
  if (!(socket instanceof TLSSocket)) return plain;
  // False when the client named none; the types know of the name on the server's side only by `any`.
  const { servername } = socket as { readonly servername?: string | false };
  return {
    scheme: "https",
    serverName: servername ? servername.toLowerCase() : null,
    tlsVersion: socket.getProtocol(),
  };
}

const plain = { scheme: "http", serverName: null, tlsVersion: null } as const;

/** Where the counting of a socket's next exchange begins. */
const readBefore = new WeakMap<Socket, number>();

/** Bytes of one exchange on a connection that carries several, one after the other. */
export class SocketTraffic implements Traffic {
  readonly #socket: Socket;
  readonly #readFrom: number;
  readonly #writtenFrom: number;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#readFrom = readBefore.get(socket) ?? 0;
    this.#writtenFrom = socket.bytesWritten;
  }

  get bytesIn(): number {
    return this.#socket.bytesRead - this.#readFrom;
  }

  get bytesOut(): number {
    return this.#socket.bytesWritten - this.#writtenFrom;
  }

  /** What comes from now on belongs to the next exchange. */
  end(): void {
    readBefore.set(this.#socket, this.#socket.bytesRead);
  }
}
