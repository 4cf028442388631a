/** A vault: a prefix by which configs of plugins refer to environment variables of the nodes. */
import { nullable, record, type Static, text } from "@sluice/plugin-sdk";
import { created_at, idMember, tagsMember, updated_at } from "./common-members.ts";

/** The kinds of vaults that Sluice serves. As in Kong, a reference may also name a kind instead of a prefix. */
export const vaultKinds: readonly string[] = ["env"];

export const vaultSchema = record(
  {
    id: idMember("the prefix"),
    created_at,
    updated_at,
    prefix: text({
      description: "The unique prefix by which references name the vault, such as my-env in {vault://my-env/NAME}.",
      rule: "vault-prefix",
      maxLength: 256,
    }),
    name: text({
      description: "The kind of the vault: env, the environment variables of the nodes.",
      rule: "vault-kind",
      maxLength: 256,
    }),
    description: nullable(text({ description: "A description of the vault.", maxLength: 4096 })),
    config: nullable(
      record(
        {
          prefix: nullable(
            text({
              description: "Prefix of environment variables; with APP_, a reference to NAME reads APP_NAME.",
              rule: "vault-variables",
              maxLength: 256,
            }),
          ),
        },
        { description: "The configuration of the vault." },
      ),
    ),
    tags: tagsMember,
  },
  { description: "A prefix by which configs of plugins refer to environment variables of the nodes." },
);

export type Vault = Static<typeof vaultSchema>;
