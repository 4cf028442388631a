/** key-auth: requests need a consumer's key (kong-contract 3.3). */
import { hash } from "node:crypto";
import type { Consumer, KeyAuthConfig, SnapshotCredential } from "@sluice/model";
import type { Answer, Exchange } from "../../proxy/exchange.ts";
import { headerValue } from "../header-value.ts";
import type { PluginHandler } from "../plugin.ts";
import { findKey, hideKey, membersOnce } from "./find-key.ts";

type Fault = "absent" | "duplicate" | "unknown";

const messages: Readonly<Record<Fault, string>> = {
  absent: "No API key found in request",
  duplicate: "Duplicate API key found",
  unknown: "Unauthorized",
};

/** The value of WWW-Authenticate; the realm as a quoted string (RFC 9110 5.6.4). */
const challengeOf = (realm: string | null) =>
  realm === null ? "Key" : `Key realm="${headerValue(realm).replace(/["\\]/g, "\\$&")}"`;

interface Identity {
  readonly consumer: Consumer;
  /** Null for the anonymous consumer. */
  readonly credential: SnapshotCredential | null;
}

/** Whose request this is, or why nobody knows. */
async function authenticate(exchange: Exchange, config: KeyAuthConfig): Promise<Identity | Fault> {
  const members = membersOnce(exchange);
  const { key, fault } = await findKey(exchange, config, members);
  // Also what is no good as a key: the request may go on as the anonymous consumer's.
  if (config.hide_credentials) await hideKey(exchange, config, members);
  if (key === undefined) return fault;
  const credential = exchange.identities.credential(hash("sha256", key));
  const owner = credential?.consumer?.id;
  const consumer = owner === undefined ? undefined : exchange.identities.consumer(owner);
  return credential === undefined || consumer === undefined ? "unknown" : { consumer, credential };
}

/** Tells the rest of the gateway and the upstream who it is. What is not known is removed: a client may have sent it. */
function identify(exchange: Exchange, { consumer, credential }: Identity): void {
  exchange.consumer = consumer;
  exchange.credential = credential;
  exchange.anonymous = credential === null;
  const headers: readonly (readonly [name: string, value: string | null | undefined])[] = [
    ["X-Consumer-ID", consumer.id],
    ["X-Consumer-Username", consumer.username],
    ["X-Consumer-Custom-ID", consumer.custom_id],
    ["X-Credential-Identifier", credential?.id],
    ["X-Anonymous-Consumer", credential === null ? "true" : null],
  ];
  for (const [name, value] of headers) {
    if (value === null || value === undefined) exchange.upstreamHeaders.remove(name);
    else exchange.upstreamHeaders.set(name, headerValue(value));
  }
}

export const keyAuth: PluginHandler<"key-auth"> = (config) => {
  const challenge = { "WWW-Authenticate": challengeOf(config.realm) };

  function refuse(exchange: Exchange, fault: Fault): Answer | undefined {
    if (config.anonymous === null) return { status: 401, message: messages[fault], headers: challenge };
    const consumer = exchange.identities.consumer(config.anonymous);
    if (consumer === undefined) {
      return { status: 500, message: `anonymous consumer ${config.anonymous} is configured but doesn't exist` };
    }
    identify(exchange, { consumer, credential: null });
    return undefined;
  }

  return {
    async access(exchange) {
      if (!config.run_on_preflight && exchange.request.method === "OPTIONS") return undefined;
      // With an anonymous consumer any one of several authentication plugins is enough.
      if (config.anonymous !== null && exchange.credential !== null) return undefined;
      const found = await authenticate(exchange, config);
      if (typeof found === "string") return refuse(exchange, found);
      identify(exchange, found);
      return undefined;
    },
  };
};
