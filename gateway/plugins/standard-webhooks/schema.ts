/** Config of standard-webhooks: the secret of the sender, and the age of accepted messages. */
import { definePluginFacts, integer, record, type Static, text } from "@sluice/plugin-sdk";

const schema = record(
  {
    secret_v1: text({
      description:
        "The secret with which the sender signs messages. It is used as it is: neither Base64 nor the prefix " +
        "`whsec_` is decoded.",
      secret: true,
      referenceable: true,
      maxLength: 4096,
    }),
    tolerance_second: integer({
      description:
        "Seconds after its timestamp for which a message is accepted. As in Kong, a timestamp in the future is also " +
        "accepted.",
      default: 300,
      minimum: 0,
      maximum: 2 ** 31 - 1,
    }),
  },
  {
    description:
      "Accepts only webhooks with a valid signature (Standard Webhooks: HMAC with SHA-256 of id, timestamp and body). " +
      "Webhooks with a body of more than 1 MiB are refused.",
  },
);

export type StandardWebhooksConfig = Static<typeof schema>;

export const standardWebhooksFacts = definePluginFacts({
  name: "standard-webhooks",
  version: "0.1.0",
  priority: 760,
  protects: true,
  refuses: ["consumer"],
  schema,
});
