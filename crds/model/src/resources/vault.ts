/** The custom resource Vault. */
import type { Vault } from "../entities/index.ts";
import { type CommonSpec, commonSpecMembers, stateColumns } from "./common-spec.ts";
import { type Derived, type KindFacts, specOf } from "./kind.ts";

export type VaultSpec = CommonSpec &
  Derived<Vault, "name" | "config"> & {
    readonly backend: string;
    readonly prefix: string;
    readonly config?: { readonly prefix?: string };
  };

export const vaultKind: KindFacts = {
  collection: "vaults",
  shortName: "gwvault",
  spec: specOf("vaults", {
    description:
      "A prefix by which configs of plugins refer to environment variables of the nodes. Plugins of all namespaces " +
      "may use it, so only Vaults in Sluice's home namespace are accepted.",
    omit: ["name"],
    add: {
      ...commonSpecMembers(
        "Name from which the id is derived; unique across namespaces. Default: prefix, which is the name of the vault " +
          "in references.",
      ),
      backend: {
        type: "string",
        description: "The kind of the vault: env, the environment variables of the nodes.",
        minLength: 1,
        maxLength: 256,
        cel: [
          {
            rule: "self == 'env'",
            message:
              "only env is supported: put the secret into an environment variable of the nodes, or use configFrom of " +
              "a Plugin, which reads it from a Secret",
          },
        ],
      },
    },
    refine: {
      prefix: {
        cel: [
          {
            rule: "self.matches('^[a-z][a-z0-9-]*[a-z0-9]$') && self != 'env'",
            message:
              "must begin with a lower-case letter, contain only lower-case letters, digits and -, not end with -, " +
              "and not be env",
          },
        ],
      },
    },
    required: ["backend", "prefix"],
  }),
  columns: [
    { name: "Prefix", jsonPath: ".spec.prefix", description: "The name of the vault in references." },
    { name: "Backend", jsonPath: ".spec.backend", description: "The kind of the vault." },
    ...stateColumns,
  ],
};
