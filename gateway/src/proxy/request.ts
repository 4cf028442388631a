/** The request as router and plugins see it, from what any engine knows when the head has arrived. */
import type { MatchRequest } from "../runtime/runtime.ts";
import type { ExchangeRequest } from "./exchange.ts";
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

  /** Null when the request target is none that a gateway serves, or the host is told twice (RFC 9112 section 3.2). */
  static of(head: RequestHead, trust: Trust): IncomingRequest | null {
    const target = parseTarget(head.target);
    if (target === null || countHosts(head.rawHeaders) > 1) return null;
    return new IncomingRequest(head, target, trust);
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
