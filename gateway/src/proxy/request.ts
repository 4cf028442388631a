/** The request as router and plugins see it, from what any engine knows when the head has arrived. */
import type { MatchRequest } from "../runtime/runtime.ts";
import type { ExchangeRequest } from "./exchange.ts";
import type { FaultName } from "./faults.ts";
import { parseTarget, type RequestTarget } from "./path.ts";
import type { RequestBody } from "./request-body.ts";
import { plainAddress, type Trust } from "./trust.ts";

/** A request's head as an engine hands it over. */
export interface RequestHead {
  readonly method: string;
  /** The request target as it stood in the request line. */
  readonly target: string;
  /** 1.0 or 1.1 */
  readonly httpVersion: string;
  /** By lower-case name; several values joined, or as a list. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Name, value, name, value, as they came. */
  readonly rawHeaders: readonly string[];
  readonly peerAddress: string;
  /** The listener's port. */
  readonly port: number;
  readonly scheme: "http" | "https";
  readonly serverName: string | null;
  /** Null when the request has none. */
  readonly body: RequestBody | null;
}

export class IncomingRequest implements ExchangeRequest, MatchRequest {
  readonly head: RequestHead;
  readonly method: string;
  readonly target: RequestTarget;
  readonly path: string;
  readonly query: string;
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly peerAddress: string;
  readonly clientAddress: string;
  readonly serverName: string | null;
  /** Whether the peer's X-Forwarded-* headers are believed. */
  readonly trusted: boolean;

  /** The fault of a head that parsers let through although nobody may serve it. */
  static of(head: RequestHead, trust: Trust): IncomingRequest | FaultName {
    const target = parseTarget(head.target);
    if (target === null) return "badRequest";
    return headFault(head, target) ?? new IncomingRequest(head, target, trust);
  }

  private constructor(head: RequestHead, target: RequestTarget, trust: Trust) {
    this.head = head;
    this.method = head.method;
    this.target = target;
    this.path = target.path;
    this.query = target.query;
    this.host = (target.authority ?? this.header("host") ?? "").toLowerCase();
    this.peerAddress = plainAddress(head.peerAddress);
    this.trusted = trust.trusts(this.peerAddress);
    this.clientAddress = this.trusted
      ? trust.clientAddress(this.peerAddress, (name) => this.header(name))
      : this.peerAddress;
    this.scheme = (this.trusted && forwardedScheme(this.header("x-forwarded-proto"))) || head.scheme;
    this.serverName = head.serverName;
  }

  header(name: string): string | undefined {
    const value = this.head.headers[name];
    return typeof value === "object" ? value.join(", ") : value;
  }

  headerValues(name: string): readonly string[] {
    const values: string[] = [];
    const { rawHeaders } = this.head;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const sent = rawHeaders[at] ?? "";
      if (sent.length === name.length && sent.toLowerCase() === name) values.push(rawHeaders[at + 1] ?? "");
    }
    return values;
  }

  async body(limit: number): Promise<Buffer | null> {
    return this.head.body === null ? Buffer.alloc(0) : this.head.body.read(limit);
  }
}

/** Version, framing and host of a request; null when all is well. */
function headFault({ httpVersion, headers, rawHeaders }: RequestHead, { authority }: RequestTarget): FaultName | null {
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return "unknownVersion";
  const coding = headers["transfer-encoding"];
  // Of HTTP/1.0 its framing counts as faulty (RFC 9112 section 6.1); other codings are not for us to undo.
  if (coding !== undefined && httpVersion === "1.0") return "badRequest";
  if (coding !== undefined && String(coding).toLowerCase() !== "chunked") return "unknownCoding";
  if (!HOST.test(String(headers.host ?? "")) || !HOST.test(authority ?? "")) return "badRequest";
  const hosts = countHosts(rawHeaders);
  return hosts > 1 || (hosts === 0 && httpVersion === "1.1") ? "badRequest" : null;
}

/** RFC 3986: a name or an address, and perhaps a port; it may be empty. */
const HOST = /^(?:\[[\da-f:.]+\]|[\w\-.~%!$&'()*+,;=]*)(?::\d*)?$/i;

function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? "";
    if (name.length === 4 && name.toLowerCase() === "host") hosts++;
  }
  return hosts;
}

const forwardedScheme = (value: string | undefined): "http" | "https" | undefined =>
  value === "http" || value === "https" ? value : undefined;
