/** Reads and writes the entries of Secrets. */
import type { Ref, Resource, ResourceClient } from "@sluice/crds";

/** The entry with this name; empty when there is none. */
export const secretEntry = ({ data = {} }: Resource, entry: string): string =>
  Buffer.from(data[entry] ?? "", "base64").toString();

export interface SecretWrite {
  readonly client: Pick<ResourceClient, "apply">;
  readonly manager: string;
  /** The Secret as last read; null: it did not exist. A Secret that was changed after this read is not overwritten. */
  readonly found: Resource | null;
  readonly texts: Readonly<Record<string, string>>;
}

/** Writes an opaque Secret with these entries, unless it has them already. Returns whether it was written. */
export async function writeSecret({ namespace, name }: Omit<Ref, "kind">, write: SecretWrite): Promise<boolean> {
  const { client, manager, found, texts } = write;
  const entries = Object.entries(texts);
  if (found && entries.every(([entry, text]) => secretEntry(found, entry) === text)) return false;
  const data = Object.fromEntries(entries.map(([entry, text]) => [entry, Buffer.from(text).toString("base64")]));
  // Opaque, so that no other program mistakes it for a certificate.
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, type: "Opaque", data };
  const { uid = "", resourceVersion = "" } = found?.metadata ?? {};
  await client.apply("Secret", secret, { manager, force: true, expect: found ? { uid, resourceVersion } : "absent" });
  return true;
}

/** Name of the Secret that holds the authority. `name` is the name of the Secret that nodes mount. */
export const authoritySecretName = (name: string): string => `${name}-authority`;
