/** Credentials of plugins that do not come with Sluice: each plugin declares the members of its own credentials. */
import { nullable, owner, record, type Static, text, typedSchema } from "@sluice/plugin-sdk";
import { created_at, tagsMember } from "../common-members.ts";

export const pluginCredentialSchema = record(
  {
    id: text({
      description:
        "The credential's UUID. If unset, the admin API generates it at random; in a declarative file it is derived " +
        "from the consumer, the plugin and the key (UUIDv5).",
      rule: "uuid",
    }),
    created_at,
    consumer: owner("consumers", "The consumer that owns the credential."),
    plugin: text({ description: "Name of the plugin that verifies the credential.", maxLength: 64 }),
    key: nullable(
      text({
        description:
          "The text by which requests identify the credential, such as a token or a user name; unique among the " +
          "credentials of the plugin. Nodes store only its hash.",
        minLength: 1,
        maxLength: 512,
        secret: true,
      }),
    ),
    config: typedSchema<Record<string, unknown>>({
      type: "object",
      description: "Further fields of the credential, which the plugin declares.",
      default: {},
    }),
    tags: tagsMember,
  },
  { description: "A consumer's credential for a plugin that you have written." },
);

export type PluginCredential = Static<typeof pluginCredentialSchema>;
