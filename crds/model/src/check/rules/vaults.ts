/** Rules for vaults, with the patterns and messages of Kong's schemas `vaults` and `vaults/env`. */
import { vaultKinds } from "../../entities/vault.ts";
import type { TextRule } from "./rule.ts";

/** Kinds of vaults in Kong's paid editions. */
const otherKinds: ReadonlySet<string> = new Set(["aws", "azure", "conjur", "gcp", "hcv"]);

export const vaultRules = {
  /** A reference names a vault by its prefix or by its kind, so a prefix must not be the name of a kind. */
  "vault-prefix": (value) => {
    if (!/^[a-z][a-z0-9-]*[a-z0-9]$/.test(value)) return `invalid value: ${value}`;
    return vaultKinds.includes(value) ? `must not be one of: ${vaultKinds.join(", ")}` : undefined;
  },
  "vault-kind": (value) => {
    if (vaultKinds.includes(value)) return undefined;
    const instead = otherKinds.has(value)
      ? "put the secret into an environment variable of the nodes and use a vault of the kind env, or use a Plugin " +
        "resource with configFrom, which reads it from a Secret"
      : "use env, whose values are environment variables of the nodes";
    return `vault '${value}' is not installed: ${instead}`;
  },
  "vault-variables": (value) => (/^[A-Za-z_-][A-Za-z0-9_-]*$/.test(value) ? undefined : `invalid value: ${value}`),
} satisfies Readonly<Record<string, TextRule>>;
