/** The head of an HTTP/2 request, validated and in the form that the pipeline expects (RFC 9113 section 8.3). */

import { isToken } from "@sluice/plugin-sdk";
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { ClientBody } from "../client/client-body.ts";
import type { ConnectionPeer } from "../client/open-connection.ts";
import { HOST, type RequestHead } from "../exchange/request.ts";
import { onlyFirst } from "../http1/parse/fields.ts";
import type { HeadLimits } from "../http1/parse/head-parser.ts";
import { connectionSpecific, isPseudo } from "./fields.ts";

export interface StreamHeadOptions {
  readonly peer: ConnectionPeer;
  readonly limits: HeadLimits;
  /** Creates the body; null: the request has none. `declared` is null without Content-Length. */
  readonly body: ((declared: number | null) => ClientBody) | null;
}

/** HPACK's overhead per field (RFC 7541 section 4.1). */
const FIELD_COST = 32;
const TOKEN = /^[!#$%&'*+\-.^_`|~\da-z]+$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const BAD_VALUE = /[\x00-\x08\x0a-\x1f\x7f]|^[\t ]|[\t ]$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches control characters
const BAD_PATH = /[\x00-\x20\x7f#]/;

export class StreamHead implements RequestHead {
  readonly method: string;
  readonly target: string;
  readonly httpVersion = "2";
  readonly fault: GatewayErrorName | null;
  /** Begins with Host; cookie crumbs are joined (RFC 9113 section 8.2.3). */
  readonly rawHeaders: readonly string[];
  readonly peer: ConnectionPeer;
  readonly body: ClientBody | null;

  /** @param flat As received, with pseudo-header fields */
  constructor(flat: readonly string[], { peer, limits, body }: StreamHeadOptions) {
    const pseudo = pseudoFields(flat);
    const { headers, hosts, fault } = regular(flat);
    const [host = pseudo.authority ?? ""] = hosts;
    this.method = pseudo.method ?? "";
    this.target = pseudo.path ?? "";
    this.rawHeaders = ["host", pseudo.authority ?? host, ...headers];
    this.peer = peer;
    const length = this.header("content-length");
    this.fault =
      sizeFault(flat, limits) ??
      fault ??
      pseudoFault(pseudo, hosts) ??
      lengthFault(length) ??
      expectationFault(this.header("expect"));
    this.body = body?.(length === undefined ? null : Number(length)) ?? null;
  }

  header(name: string): string | undefined {
    const [first, ...others] = this.headerValues(name);
    return first === undefined || others.length === 0 || onlyFirst.has(name) ? first : [first, ...others].join(", ");
  }

  headerValues(name: string): readonly string[] {
    const { rawHeaders } = this;
    const values: string[] = [];
    for (let at = 0; at < rawHeaders.length; at += 2) {
      if (rawHeaders[at] === name) values.push(rawHeaders[at + 1] ?? "");
    }
    return values;
  }
}

interface PseudoFields {
  readonly method?: string;
  readonly scheme?: string;
  readonly authority?: string;
  readonly path?: string;
}

function pseudoFields(flat: readonly string[]): PseudoFields {
  const fields: Record<string, string> = {};
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at] ?? "";
    if (isPseudo(name)) fields[name.slice(1)] = flat[at + 1] ?? "";
  }
  return fields;
}

interface RegularFields {
  /** Flat list without Host. */
  readonly headers: readonly string[];
  readonly hosts: readonly string[];
  readonly fault: GatewayErrorName | null;
}

function regular(flat: readonly string[]): RegularFields {
  const headers: string[] = [];
  const hosts: string[] = [];
  let cookieAt = -1;
  let fault: GatewayErrorName | null = null;
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at] ?? "";
    const value = flat[at + 1] ?? "";
    if (isPseudo(name)) continue;
    if (!TOKEN.test(name) || BAD_VALUE.test(value) || !maySend(name, value)) fault = "badRequest";
    if (name === "host") hosts.push(value);
    else if (name === "cookie" && cookieAt >= 0) headers[cookieAt] += `; ${value}`;
    else {
      headers.push(name, value);
      if (name === "cookie") cookieAt = headers.length - 1;
    }
  }
  return { headers, hosts, fault };
}

const maySend = (name: string, value: string): boolean =>
  !connectionSpecific.has(name) && (name !== "te" || value.toLowerCase() === "trailers");

/** Null: no fault. CONNECT and `OPTIONS *` are refused, because a reverse proxy cannot forward them. */
function pseudoFault(
  { method, scheme, authority, path }: PseudoFields,
  hosts: readonly string[],
): GatewayErrorName | null {
  if (method === undefined || !isToken(method) || method === "CONNECT") return "badRequest";
  if (scheme !== "http" && scheme !== "https") return "badRequest";
  if (path === undefined || !path.startsWith("/") || BAD_PATH.test(path)) return "badRequest";
  const [host] = hosts;
  const named = authority ?? host;
  if (named === undefined || hosts.length > 1 || !HOST.test(named)) return "badRequest";
  return host === undefined || host.toLowerCase() === named.toLowerCase() ? null : "badRequest";
}

/** Checks only the syntax of Content-Length: nghttp2 checks that it matches the body's length. Null: no fault. */
const lengthFault = (length: string | undefined): GatewayErrorName | null =>
  length === undefined || /^\d{1,15}$/.test(length) ? null : "badRequest";

/** Null: no fault. Only 100-continue is defined (RFC 9110 section 10.1.1). */
const expectationFault = (expectation: string | undefined): GatewayErrorName | null =>
  expectation === undefined || expectation.toLowerCase() === "100-continue" ? null : "unknownExpectation";

function sizeFault(flat: readonly string[], { line, fields, count }: HeadLimits): GatewayErrorName | null {
  let size = 0;
  let fieldCount = 0;
  for (let at = 0; at < flat.length; at += 2) {
    const name = flat[at] ?? "";
    const { length } = flat[at + 1] ?? "";
    if (name === ":path") {
      if (length > line) return "targetTooLong";
    } else size += name.length + length + FIELD_COST;
    if (!isPseudo(name)) fieldCount++;
  }
  return size > fields || fieldCount > count ? "headTooLarge" : null;
}
