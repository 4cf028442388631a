/** Credentials of hmac-auth: the secrets with which consumers sign requests. */
import { owner, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, tagsMember } from "../common-members.ts";

export const hmacAuthSchema = record(
  {
    id: text({
      description:
        "The credential's UUID. If unset, the admin API generates it at random; in a declarative file it is derived " +
        "from the user name (UUIDv5).",
      rule: "uuid",
    }),
    created_at,
    consumer: owner("consumers", "The consumer that signs with the secret."),
    username: text({ description: "The user name, unique among these credentials.", maxLength: 512 }),
    secret: text({
      description:
        "The shared secret. Required in declarative files; the admin API generates it (32 letters and digits) if it " +
        "is unset.",
      maxLength: 4096,
      secret: true,
    }),
    tags: tagsMember,
  },
  { description: "A secret with which a consumer signs requests." },
);

export type HmacAuthCredential = Static<typeof hmacAuthSchema>;
