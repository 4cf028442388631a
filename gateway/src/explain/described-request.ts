/** Converts a request to explain (`ExplainRequest`) into the head that an engine would pass to the pipeline. */
import { isIP } from "node:net";
import type { ExplainRequest } from "@sluice/model";
import type { GatewayErrorName } from "../exchange/gateway-errors.ts";
import { canonicalAddress } from "../outbound/address-set.ts";
import { ClientBody } from "../proxy/client/client-body.ts";
import type { ConnectionPeer } from "../proxy/client/open-connection.ts";
import type { RequestHead } from "../proxy/exchange/request.ts";
import { ClientHead, gatewayErrorOfHead, isWebSocket } from "../proxy/http1/client-head.ts";
import { NO_BODY } from "../proxy/http1/parse/framing.ts";
import { defaultHeadLimits, type HeadLimits } from "../proxy/http1/parse/head-parser.ts";
import { RequestHeadParser } from "../proxy/http1/parse/request-head.ts";
import { listedHead } from "../proxy/http2/requests/listed-head.ts";
import type { ProxySettings } from "../proxy/settings.ts";
import { ByteView } from "../proxy/sockets/byte-view.ts";

export type DescribedHead =
  | {
      readonly head: RequestHead;
      /** The protocol to which the request asks to upgrade; null: none. */
      readonly protocol: string | null;
      readonly fault?: undefined;
    }
  | { readonly head?: undefined; readonly protocol?: undefined; readonly fault: GatewayErrorName };

export interface DescribedHeadOptions {
  readonly settings: Pick<ProxySettings, "maxHeaderSize">;
  /** See `ConnectionPeer`. */
  readonly documentPort: number | null;
  /** Called when a plugin reads a body of which only the size is known. */
  readonly onBodyRead: () => void;
}

interface DescribedParts {
  readonly target: string;
  readonly authority: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly peer: ConnectionPeer;
  readonly limits: HeadLimits;
  readonly newBody: (declared: number | null) => ClientBody;
}

export function describedHead(
  described: ExplainRequest,
  { settings, documentPort, onBodyRead }: DescribedHeadOptions,
): DescribedHead {
  const { url, http_version, body, body_size } = described;
  const [, scheme = "", authority = "", rest = ""] = /^(https?):\/\/([^/?]+)(.*)$/.exec(url) ?? [];
  const headers = Object.entries(described.headers).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  const length = body === null ? body_size : Buffer.byteLength(body);
  if (length !== null && !has(headers, "content-length") && !has(headers, "transfer-encoding"))
    headers.push(["Content-Length", String(length)]);
  const parts: DescribedParts = {
    target: rest.startsWith("/") ? rest : `/${rest}`,
    authority,
    headers,
    peer: peerOf(described, { scheme: scheme === "https" ? "https" : "http", authority, documentPort }),
    limits: { ...defaultHeadLimits, fields: settings.maxHeaderSize },
    newBody: (declared) => newBody(declared, body ?? (body_size === 0 ? "" : null), onBodyRead),
  };
  return http_version === "2" ? http2Head(described, parts) : http1Head(described, parts);
}

function http1Head({ method }: ExplainRequest, { target, authority, headers, peer, limits, newBody }: DescribedParts) {
  const lines = [
    `${method} ${target} HTTP/1.1`,
    ...(has(headers, "host") ? [] : [`Host: ${authority}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
  ];
  const bytes = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`);
  const parser = new RequestHeadParser(limits);
  const result = parser.parse(bytes, 0, bytes.length);
  if (result < 0) return { fault: gatewayErrorOfHead(result) };
  if (parser.expectUnknown) return { fault: "unknownExpectation" as const };
  const declared = parser.contentLength < 0 ? null : parser.contentLength;
  const head = new ClientHead(parser, peer, parser.bodyKind === NO_BODY ? null : newBody(declared));
  return { head, protocol: parser.upgrade && isWebSocket(head) ? (head.header("upgrade") ?? null) : null };
}

function http2Head(
  { method, url }: ExplainRequest,
  { target, authority, headers, peer, limits, newBody }: DescribedParts,
) {
  const scheme = url.startsWith("https:") ? "https" : "http";
  const pseudo = [":method", method, ":scheme", scheme, ":authority", authority, ":path", target];
  const fields = headers.flatMap(([name, value]) => [name.toLowerCase(), value]);
  // Names and values have one character for each byte.
  const flat = [...pseudo, ...fields].map((text) => Buffer.from(text).toString("latin1"));
  const head = listedHead(flat, { peer, limits, body: has(headers, "content-length") ? newBody : null });
  return typeof head === "string" ? { fault: head } : { head, protocol: null };
}

const has = (headers: DescribedParts["headers"], name: string): boolean =>
  headers.some(([other]) => other.toLowerCase() === name);

function newBody(declared: number | null, body: string | null, onBodyRead: () => void): ClientBody {
  const made: ClientBody = new ClientBody(declared, () => {
    // Once a plugin has replaced the body, the client's body is only discarded.
    if (made.ended || made.whole !== null) return;
    if (body === null) return onBodyRead();
    made.write(ByteView.of(Buffer.from(body)));
    made.end("");
  });
  return made;
}

interface PeerFacts {
  readonly scheme: "http" | "https";
  readonly authority: string;
  readonly documentPort: number | null;
}

function peerOf(
  { client_address, server_name }: ExplainRequest,
  { scheme, authority, documentPort }: PeerFacts,
): ConnectionPeer {
  // An invalid authority needs no error here, because the head that contains it is refused.
  const [, host = "", port = scheme === "https" ? "443" : "80"] = /^(.*?)(?::(\d+))?$/.exec(authority) ?? [];
  const isSecure = scheme === "https";
  // Clients send no address as server name (RFC 6066 section 3).
  const serverName = server_name ?? (isIP(host.replace(/^\[(.*)\]$/, "$1")) === 0 ? host : null);
  return {
    peerAddress: canonicalAddress(client_address),
    localAddress: "127.0.0.1",
    port: Number(port),
    documentPort,
    scheme,
    serverName: isSecure ? (serverName?.toLowerCase() ?? null) : null,
    tlsVersion: isSecure ? "TLSv1.3" : null,
    tlsCipher: null,
    clientCertificates: isSecure ? [] : null,
  };
}
