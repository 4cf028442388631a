/** Identifies the caller by the headers that the gateway adds (and removes when a client sends them). */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import type { GraphQLError } from "graphql";
import { createFailure } from "../errors.ts";

/** Carries the secret shared by the gateway and this service; `upstream_headers` of the gateway's Service adds it. */
export const SECRET_HEADER = "x-gateway-secret";

/** The members of a request that identify its caller. */
export interface IncomingCall {
  readonly headers: IncomingHttpHeaders;
  /** The peer address of the connection, never one from a header. */
  readonly remoteAddress: string | undefined;
}

export interface Caller {
  /** Null without a gateway, without a credential, and for the gateway's anonymous consumer. */
  readonly consumer: Consumer | null;
  /** The client's address: as the gateway reports it, else the peer address of the connection. */
  readonly address: string;
  readonly gateway: boolean;
}

export interface TrustOptions {
  /** The secret that the gateway sends. Undefined: there is none, and consumer headers are ignored. */
  readonly gatewaySecret: string | undefined;
  /** Whether requests from loopback are accepted without the secret. */
  readonly directCalls: boolean;
}

/** The caller, or the error with which the request is refused. Used for requests and for upgrades alike. */
export type IdentifyCaller = (asking: IncomingCall) => Caller | { readonly refusal: GraphQLError };

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** IPv4 in IPv6 (::ffff:127.0.0.1) counts as the IPv4 address. */
export function isLoopback(address: string | undefined): boolean {
  // A BlockList takes as long as all other checks of a request together, so the usual addresses do not reach it.
  if (address === "127.0.0.1" || address === "::1" || address === "::ffff:127.0.0.1") return true;
  return address !== undefined && loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/**
 * Whether a browser requests this service under a host name that is not this machine's. The owner of that name may
 * have pointed it here (DNS rebinding), and the browser then treats that site's pages as same-origin.
 */
function isRebound({ host = "", origin, "sec-fetch-site": site }: IncomingHttpHeaders): boolean {
  if (origin === undefined && site === undefined) return false;
  const name = URL.parse(`http://${host}`)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
  return name !== "localhost" && !name.endsWith(".localhost") && !(isIP(name) > 0 && isLoopback(name));
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

export function makeIdentifyCaller({ gatewaySecret, directCalls }: TrustOptions): IdentifyCaller {
  const expected = gatewaySecret === undefined ? null : digest(gatewaySecret);
  return ({ headers, remoteAddress }) => {
    const shown = headers[SECRET_HEADER];
    // Digests have equal length, and comparing them takes constant time.
    if (expected !== null && typeof shown === "string" && timingSafeEqual(digest(shown), expected)) {
      const address = singleHeader(headers["x-real-ip"]) ?? remoteAddress ?? "";
      return { consumer: consumerOf(headers), address, gateway: true };
    }
    if (expected !== null && shown !== undefined) return refused("X-Gateway-Secret has the wrong secret");
    // Without the secret, consumer headers are ignored.
    if (directCalls && isLoopback(remoteAddress)) {
      if (isRebound(headers))
        return {
          refusal: createFailure("FORBIDDEN", "Without a gateway, web pages of other hosts may not send requests"),
        };
      return { consumer: null, address: remoteAddress ?? "", gateway: false };
    }
    return refused("Requests are accepted only through the gateway");
  };
}

const refused = (message: string) => ({ refusal: createFailure("UNAUTHENTICATED", message) });

export interface Consumer {
  readonly id: string;
  /** The id, for a consumer without a name. */
  readonly username: string;
  readonly tags: readonly string[];
}

export function singleHeader(value: string | string[] | undefined): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The items of a comma-separated list. */
export const splitList = (value = ""): readonly string[] =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/**
 * The consumer that the gateway's headers name. Null if the client sent no credential, even if the gateway then names
 * its anonymous consumer.
 */
export function consumerOf(headers: IncomingHttpHeaders): Consumer | null {
  const id = singleHeader(headers["x-consumer-id"]);
  if (id === undefined || singleHeader(headers["x-anonymous-consumer"]) === "true") return null;
  return {
    id,
    username: singleHeader(headers["x-consumer-username"]) ?? id,
    tags: splitList(singleHeader(headers["x-consumer-tags"])),
  };
}
