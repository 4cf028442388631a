/** key-auth: requests need a consumer's key (docs/reference/kong-compatibility.md#key-auth). */
import { hash } from "node:crypto";
import {
  type AuthenticatedIdentity,
  applyIdentity,
  type DirectResponse,
  definePlugin,
  type Exchange,
  headerValue,
  StringCache,
  unexpectedError,
} from "@sluice/plugin-sdk";
import { type BodyMembers, readMembers } from "./body.ts";
import { type FoundKey, findKey, hideKey } from "./find-key.ts";
import { keyAuthFacts } from "./schema.ts";

type Fault = "absent" | "duplicate" | "unknown";

const messages: Readonly<Record<Fault, string>> = {
  absent: "No API key found in request",
  duplicate: "Duplicate API key found",
  unknown: "Unauthorized",
};

/** The value of WWW-Authenticate, with the realm as a quoted string (RFC 9110 5.6.4). */
const challengeOf = (realm: string | null) =>
  realm === null ? "Key" : `Key realm="${headerValue(realm).replace(/["\\]/g, "\\$&")}"`;

/** Caches hashes, because keys are repeated and one hash costs as much as the rest of this plugin. */
const hashes = new StringCache((key) => hash("sha256", key));

/** The consumer of a key; undefined for an unknown key. */
function ownerOf({ identities }: Exchange, key: string): AuthenticatedIdentity | undefined {
  const credential = identities.credential(hashes.of(key));
  const owner = credential?.consumer?.id;
  const consumer = owner === undefined ? undefined : identities.consumer(owner);
  return credential === undefined || consumer === undefined ? undefined : { consumer, credential };
}

export const keyAuth = definePlugin({
  ...keyAuthFacts,
  phases(config) {
    const challenge = { "WWW-Authenticate": challengeOf(config.realm) };

    function refuse(exchange: Exchange, fault: Fault): DirectResponse | undefined {
      if (config.anonymous === null) return { status: 401, message: messages[fault], headers: challenge };
      const consumer = exchange.identities.consumer(config.anonymous);
      if (consumer === undefined) {
        return unexpectedError(`key-auth: the consumer ${config.anonymous} of \`anonymous\` does not exist`);
      }
      applyIdentity(exchange, { consumer, credential: null });
      return undefined;
    }

    function decide(
      exchange: Exchange,
      { key, fault }: FoundKey,
      body: BodyMembers | null,
    ): DirectResponse | undefined {
      // An invalid key is removed too: the request may continue as the anonymous consumer.
      if (config.hide_credentials) hideKey(exchange, config, body);
      if (key === undefined) return refuse(exchange, fault);
      const owner = ownerOf(exchange, key);
      if (owner === undefined) return refuse(exchange, "unknown");
      applyIdentity(exchange, owner);
      return undefined;
    }

    async function decideByBody(exchange: Exchange): Promise<DirectResponse | undefined> {
      const members = await readMembers(exchange.request);
      return decide(exchange, findKey(exchange, config, members) ?? { fault: "absent" }, members);
    }

    return {
      access(exchange) {
        if (!config.run_on_preflight && exchange.request.method === "OPTIONS") return undefined;
        // With an anonymous consumer, one of several authentication plugins is sufficient.
        if (config.anonymous !== null && exchange.credential !== null) return undefined;
        const found = findKey(exchange, config, undefined);
        const needsBody = found === undefined || (config.hide_credentials && config.key_in_body);
        return needsBody ? decideByBody(exchange) : decide(exchange, found, null);
      },
    };
  },
});
