/** Texts as the entries of a Secret. */
import type { Resource } from "@sluice/crds";

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** The entry of that name; empty when there is none. */
export const textIn = ({ data = {} }: Resource, entry: string): string =>
  Buffer.from(data[entry] ?? "", "base64").toString();

/** A Secret of no type that the operator reads as somebody's certificate. */
export const secretOf = ({ namespace, name }: Place, texts: Readonly<Record<string, string>>): Resource => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace },
  type: "Opaque",
  data: Object.fromEntries(Object.entries(texts).map(([entry, text]) => [entry, Buffer.from(text).toString("base64")])),
});

/** For `expect`: that very object at that version, or none. */
export const asFound = (found: Resource | null) =>
  found ? { uid: found.metadata.uid ?? "", resourceVersion: found.metadata.resourceVersion ?? "" } : "absent";

/** Of the push: the Secret that nodes mount, and that with the authority. */
export const pushSecretNames = (name: string) => ({ nodes: name, authority: `${name}-authority` });
