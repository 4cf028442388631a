/** Who asks, as the gateway says in the headers that it adds (and that it removes when a client sends them). */
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { BlockList, isIP, isIPv6 } from "node:net";
import type { GraphQLError } from "graphql";
import { failure } from "../errors.ts";
import { type Consumer, consumerOf, single } from "./consumer.ts";

/** Carries the secret that the gateway shares with us: `upstream_headers` of its Service adds it. */
export const SECRET_HEADER = "x-gateway-secret";

/** A request as far as it tells who asks. */
export interface Asking {
  readonly headers: IncomingHttpHeaders;
  /** The address of the connection's other end, never one out of a header. */
  readonly remoteAddress: string | undefined;
}

/** Whom a request comes from. */
export interface Asker {
  /** Null for nobody: no gateway, no credential, or the gateway's anonymous consumer. */
  readonly consumer: Consumer | null;
  /** Where the client is: what the gateway says, else the connection's other end. */
  readonly address: string;
  /** Whether the gateway has shown its secret. */
  readonly gateway: boolean;
}

export interface TrustOptions {
  /** Undefined: nobody's headers are believed. */
  readonly gatewaySecret: string | undefined;
  /** Whether programs of this machine may ask without a gateway. */
  readonly directCalls: boolean;
}

/** Answers who asks, or why that request is refused. Used for requests and for upgrades alike. */
export type WhoAsks = (asking: Asking) => Asker | { readonly refusal: GraphQLError };

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** IPv4 in IPv6 (::ffff:127.0.0.1) counts as the IPv4 address. */
export function isLoopback(address: string | undefined): boolean {
  // What it nearly always is, told without asking the list.
  if (address === "127.0.0.1" || address === "::1" || address === "::ffff:127.0.0.1") return true;
  return address !== undefined && loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/**
 * Whether a browser asks for a page of another name than this machine's. Its owner may have pointed that name here
 * (DNS rebinding): to the browser such a page is one of ours.
 */
function isRebound({ host = "", origin, "sec-fetch-site": site }: IncomingHttpHeaders): boolean {
  if (origin === undefined && site === undefined) return false;
  const name = URL.parse(`http://${host}`)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";
  return name !== "localhost" && !name.endsWith(".localhost") && !(isIP(name) > 0 && isLoopback(name));
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();

export function makeWhoAsks({ gatewaySecret, directCalls }: TrustOptions): WhoAsks {
  const expected = gatewaySecret === undefined ? null : digest(gatewaySecret);
  return ({ headers, remoteAddress }) => {
    const shown = headers[SECRET_HEADER];
    // Digests have one length, and comparing them takes the same time wherever they differ.
    if (expected !== null && typeof shown === "string" && timingSafeEqual(digest(shown), expected)) {
      const address = single(headers["x-real-ip"]) ?? remoteAddress ?? "";
      return { consumer: consumerOf(headers), address, gateway: true };
    }
    if (expected !== null && shown !== undefined) return refused("The secret in X-Gateway-Secret is not ours");
    // Without the secret nothing that the headers say of a consumer is believed.
    if (directCalls && isLoopback(remoteAddress)) {
      if (isRebound(headers))
        return { refusal: failure("FORBIDDEN", "Only pages of this machine may ask without a gateway") };
      return { consumer: null, address: remoteAddress ?? "", gateway: false };
    }
    return refused("Requests are answered through the gateway only");
  };
}

const refused = (message: string) => ({ refusal: failure("UNAUTHENTICATED", message) });
