/** Credentials of key-auth: the secret keys of consumers. */
import { integer, nullable, owner, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, tagsMember } from "../common-members.ts";

export const keyAuthSchema = record(
  {
    id: text({
      description:
        "The credential's UUID. If unset, the admin API generates it at random; in a declarative file it is derived " +
        "from the key (UUIDv5).",
      rule: "uuid",
    }),
    created_at,
    consumer: owner("consumers", "The consumer that owns the key."),
    key: nullable(
      text({
        description: "The secret key. If unset, the admin API generates one (32 letters and digits).",
        minLength: 1,
        maxLength: 512,
        secret: true,
      }),
    ),
    tags: tagsMember,
    ttl: nullable(integer({ description: "Lifetime of the key in seconds.", minimum: 0, maximum: 100_000_000 })),
  },
  { description: "A secret key of a consumer." },
);

export type KeyAuthCredential = Static<typeof keyAuthSchema>;

interface Expiring {
  readonly created_at: number;
  /** Seconds; absent or null: the entity does not expire. */
  readonly ttl?: number | null;
}

/**
 * Whether the key's `ttl` has expired. `created_at` is truncated to whole seconds. `ttl` is a minimum: a key may stay
 * valid up to a second longer.
 *
 * @param now Unix time in milliseconds.
 */
export const hasExpired = ({ ttl, created_at }: Expiring, now: number): boolean =>
  typeof ttl === "number" && (created_at + ttl + 1) * 1000 <= now;
