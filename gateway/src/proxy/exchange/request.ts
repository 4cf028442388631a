/** The request as router and plugins see it, created from the head that any engine provides. */

import type { ClientConnection, ExchangeRequest } from "@sluice/plugin-sdk";
import type { RoutableRequest } from "../../compile/runtime.ts";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import { attributeToPlugin } from "../../plugin-services/running-plugin.ts";
import type { ClientBody } from "../client/client-body.ts";
import type { ConnectionPeer } from "../client/open-connection.ts";
import { parseRequestTarget, type RequestTarget } from "./request-target.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** A request's head as provided by an engine. */
export interface RequestHead {
  readonly method: string;
  /** The target of the request line. */
  readonly target: string;
  /** 1.0, 1.1 or 2 */
  readonly httpVersion: string;
  /** Set if the engine's parser accepted a request that must be refused. */
  readonly fault: GatewayErrorName | null;
  /** Flat list in received order: name, value, name, value. */
  readonly rawHeaders: readonly string[];
  /**
   * The same headers as lines, each with one space after the colon and with its line end. Null or absent: not
   * available.
   */
  readonly headerLines?: string | null;
  readonly peer: ConnectionPeer;
  /** Null when the request has none. */
  readonly body: ClientBody | null;
  /**
   * The value of a header, by its lower-case name. Several values are combined as in Node's `message.headers`: usually
   * joined by ", ".
   */
  header(name: string): string | undefined;
  /** All values of a header in received order, not joined. */
  headerValues(name: string): readonly string[];
}

const NO_BODY = Buffer.alloc(0);

export class IncomingRequest implements ExchangeRequest, RoutableRequest {
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
  readonly documentPort: number | null;
  /** Whether the peer's X-Forwarded-* headers are trusted. */
  readonly trusted: boolean;
  /** Whether the client accepts trailers. */
  readonly takesTrailers: boolean;

  /** Returns an error if the request must be refused, although the engine's parser accepted its head. */
  static of(head: RequestHead, trust: TrustedProxies): IncomingRequest | GatewayErrorName {
    const target = parseRequestTarget(head.target);
    if (typeof target === "string") return head.fault ?? target;
    if (target.authority !== null && !isOnlyHost(head, target.authority)) return "badRequest";
    return head.fault ?? new IncomingRequest(head, target, trust);
  }

  private constructor(head: RequestHead, target: RequestTarget, trust: TrustedProxies) {
    this.head = head;
    this.method = head.method;
    this.target = target;
    this.path = target.path;
    this.query = target.query;
    this.host = (target.authority ?? this.header("host") ?? "").toLowerCase();
    this.peerAddress = head.peer.peerAddress;
    this.trusted = trust.isTrusted(this.peerAddress);
    this.clientAddress = this.trusted
      ? trust.clientAddress(this.peerAddress, (name) => this.header(name))
      : this.peerAddress;
    this.scheme = (this.trusted && forwardedScheme(this.header("x-forwarded-proto"))) || head.peer.scheme;
    this.serverName = head.peer.serverName;
    this.documentPort = head.peer.documentPort;
    this.takesTrailers = head.header("te")?.toLowerCase().includes("trailers") === true;
  }

  get sentPath(): string {
    return this.target.sentPath;
  }

  get sentTarget(): string {
    const { target } = this.head;
    return target.startsWith("/") ? target : `${this.sentPath}${this.query}`;
  }

  get httpVersion(): string {
    return this.head.httpVersion;
  }

  get rawHeaders(): readonly string[] {
    return this.head.rawHeaders;
  }

  get connection(): ClientConnection {
    return this.head.peer;
  }

  header(name: string): string | undefined {
    return this.head.header(name);
  }

  headerValues(name: string): readonly string[] {
    return this.head.headerValues(name);
  }

  async body(limit: number): Promise<Buffer | null> {
    return this.head.body === null ? NO_BODY : attributeToPlugin(this.head.body.read(limit));
  }

  arrivedBody(limit: number): Buffer | null | undefined {
    return this.head.body === null ? NO_BODY : this.head.body.arrived(limit);
  }
}

/** RFC 3986: a name or an address with an optional port, at most 65535 and possibly empty; or an empty host. */
export const HOST =
  /^(?:(?:\[[\da-f:.]+\]|(?:[\w\-.~!$&'()*+,;=]|%[\da-f]{2})+)(?::0*(?:\d{1,4}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])?)?)?$/i;

/**
 * False if an absolute-form target has no valid host, or if the Host header names another host (RFC 9112 section
 * 3.2.2).
 */
function isOnlyHost(head: RequestHead, authority: string): boolean {
  if (!HOST.test(authority)) return false;
  const host = head.header("host");
  const port = /^https/i.test(head.target) ? "443" : "80";
  return host === undefined || withPort(authority, port) === withPort(host, port);
}

/** Appends the default port if none is given. */
function withPort(host: string, port: string): string {
  const [, name = "", digits] = /^(.*?)(?::(\d*))?$/.exec(host) ?? [];
  return `${name.toLowerCase()}:${Number(digits) || port}`;
}

const forwardedScheme = (value: string | undefined): "http" | "https" | undefined =>
  value === "http" || value === "https" ? value : undefined;
