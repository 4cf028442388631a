/** Reads and writes the entries of Secrets. */
import type { Resource } from "@sluice/crds";

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** The entry with this name; empty when there is none. */
export const secretEntry = ({ data = {} }: Resource, entry: string): string =>
  Buffer.from(data[entry] ?? "", "base64").toString();

/** An opaque Secret: no other program takes it for a certificate. */
export const secretOf = ({ namespace, name }: Place, texts: Readonly<Record<string, string>>): Resource => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace },
  type: "Opaque",
  data: Object.fromEntries(Object.entries(texts).map(([entry, text]) => [entry, Buffer.from(text).toString("base64")])),
});

/** The `expect` option of an apply: this object at this version, or no object. */
export const expectationOf = (found: Resource | null) =>
  found ? { uid: found.metadata.uid ?? "", resourceVersion: found.metadata.resourceVersion ?? "" } : "absent";

/** Names of the Secret that nodes mount, and of the Secret with the authority. */
export const pushSecretNames = (name: string) => ({ nodes: name, authority: `${name}-authority` });
