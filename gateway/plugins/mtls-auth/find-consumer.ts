/** Finds the consumer of a verified certificate, in Kong's order. */
import type { AuthenticatedIdentity, Exchange, ExchangeConsumer, Identities } from "@sluice/plugin-sdk";
import type { MtlsAuthConfig } from "./schema.ts";
import type { VerifiedChain } from "./verify-chain.ts";

/**
 * The identity of a certificate with these subject names. Looks first for a credential for one of the chain's
 * authorities, then for a credential for any authority, then for a consumer that has a subject name in one of the
 * members `consumerBy`. Null: there is none.
 */
export function findConsumer(
  { identities }: Exchange,
  names: readonly string[],
  { chain, consumerBy }: { readonly chain: VerifiedChain; readonly consumerBy: MtlsAuthConfig["consumer_by"] },
): AuthenticatedIdentity | null {
  for (const authority of [...chain.authorityIds, null]) {
    for (const name of names) {
      const credential = identities
        .credentials("mtls_auth_credentials", name)
        .find(({ ca_certificate }) => (ca_certificate?.id ?? null) === authority);
      const consumer = credential && identities.consumer(credential.consumer.id);
      if (credential !== undefined && consumer !== undefined) return { consumer, credential, identifier: name };
    }
  }
  for (const name of names) {
    for (const member of consumerBy) {
      const consumer = consumerNamed(identities, member, name);
      if (consumer !== undefined) return certificateIdentity(consumer, name);
    }
  }
  return null;
}

/** An identity whose credential is the certificate itself. */
export const certificateIdentity = (consumer: ExchangeConsumer | null, name: string): AuthenticatedIdentity => ({
  consumer,
  credential: { id: name, consumer: consumer && { id: consumer.id } },
  identifier: name,
});

function consumerNamed(
  identities: Identities,
  member: "username" | "custom_id",
  name: string,
): ExchangeConsumer | undefined {
  if (member === "custom_id") return identities.consumerByCustomId(name);
  const consumer = identities.consumer(name);
  // A name in a certificate must not match the id of a consumer.
  return consumer?.username === name ? consumer : undefined;
}
