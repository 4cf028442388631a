/** The operator's accounts at ACME servers, in one Secret of its private namespace. */
import { createHash } from "node:crypto";
import type { AcmeAccount } from "@sluice/acme";
import type { Ref, Resource, ResourceClient } from "@sluice/crds";
import { secretEntry, writeSecret } from "../certificates/certificate-secret.ts";

export interface AcmeAccountsOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly namespace: string;
  /** The Secret's name without the suffix `-acme`. */
  readonly prefix: string;
  readonly manager: string;
}

export function createAcmeAccounts({ client, namespace, prefix, manager }: AcmeAccountsOptions) {
  const ref: Ref = { kind: "Secret", namespace, name: `${prefix}-acme` };
  return {
    /** Null: there is no account at the directory yet. */
    async get(directory: string): Promise<AcmeAccount | null> {
      const found = await client.get(ref);
      const text = found === null ? "" : secretEntry(found, entryOf(directory));
      return text === "" ? null : (JSON.parse(text) as AcmeAccount);
    },
    /** Rejects with a Conflict when another operator has changed the accounts meanwhile. */
    async put(directory: string, account: AcmeAccount): Promise<void> {
      const found = await client.get(ref);
      const texts = { ...textsOf(found), [entryOf(directory)]: JSON.stringify({ directory, ...account }) };
      await writeSecret(ref, { client, manager, found, texts });
    },
  };
}

export type AcmeAccounts = ReturnType<typeof createAcmeAccounts>;

const textsOf = (found: Resource | null): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.keys(found?.data ?? {}).map((entry) => [entry, secretEntry(found as Resource, entry)]));

/** Names of entries must not contain every character of a URL. */
const entryOf = (directory: string): string =>
  `${createHash("sha256").update(directory).digest("hex").slice(0, 16)}.json`;
