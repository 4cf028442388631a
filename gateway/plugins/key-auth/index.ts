/** key-auth: requests need a consumer's key (docs/reference/kong-compatibility.md#key-auth). */
import { hash } from "node:crypto";
import {
  type AuthenticatedIdentity,
  type AuthenticationResult,
  authenticationPhase,
  type BodyMembers,
  challengeOf,
  definePlugin,
  type Exchange,
  readBodyMembers,
  StringCache,
} from "@sluice/plugin-sdk";
import { type FoundKey, findKey, hideKey } from "./find-key.ts";
import { keyAuthFacts } from "./schema.ts";

type Fault = "absent" | "duplicate" | "unknown";

const messages: Readonly<Record<Fault, string>> = {
  absent: "No API key found in request",
  duplicate: "Duplicate API key found",
  unknown: "Unauthorized",
};

/** SHA-256 hashes of keys, cached because keys are repeated and one hash costs as much as the rest of this plugin. */
const hashes = new StringCache((key) => hash("sha256", key));

/** The consumer and the credential of a key; undefined: the key is unknown, or its consumer does not exist. */
function ownerOf({ identities }: Exchange, key: string): AuthenticatedIdentity | undefined {
  const credential = identities.credential("keyauth_credentials", hashes.of(key));
  const owner = credential?.consumer?.id;
  const consumer = owner === undefined ? undefined : identities.consumer(owner);
  return credential === undefined || consumer === undefined ? undefined : { consumer, credential };
}

export const keyAuth = definePlugin({
  ...keyAuthFacts,
  phases(config) {
    const challenge = { "WWW-Authenticate": challengeOf("Key", config.realm) };

    const refuse = (fault: Fault, reason: string | null = null): AuthenticationResult => ({
      refusal: { status: 401, message: messages[fault], headers: challenge, ...(reason !== null && { reason }) },
    });

    function decide(exchange: Exchange, { key, fault }: FoundKey, body: BodyMembers | null): AuthenticationResult {
      // An invalid key is removed too: the request may continue as the anonymous consumer.
      if (config.hide_credentials) hideKey(exchange, config, body);
      if (key === undefined) return refuse(fault);
      const identity = ownerOf(exchange, key);
      if (identity !== undefined) return { identity };
      return refuse("unknown", exchange.identities.whyInvalid("keyauth_credentials", hashes.of(key)));
    }

    async function decideByBody(exchange: Exchange): Promise<AuthenticationResult> {
      const members = await readBodyMembers(exchange.request);
      return decide(exchange, findKey(exchange, config, members) ?? { fault: "absent" }, members);
    }

    const access = authenticationPhase({
      plugin: "key-auth",
      anonymous: config.anonymous,
      runOnPreflight: config.run_on_preflight,
      authenticate(exchange) {
        const found = findKey(exchange, config, undefined);
        const needsBody = found === undefined || (config.hide_credentials && config.key_in_body);
        return needsBody ? decideByBody(exchange) : decide(exchange, found, null);
      },
    });
    return { access };
  },
});
