/** Keys and passwords in core Secrets: reading them for a translation, and creating one for a key. */
import { createHash } from "node:crypto";
import { CREDENTIAL_LABEL, type Credential, type KeyAuthEntry, type SecretRef } from "@sluice/model";
import type { Resource } from "../resource.ts";
import { crossNamespaceViolation, type ReferenceOrigin } from "./resolve-reference.ts";
import { CREATED_AT } from "./timestamps.ts";
import type { ResourceViolation, TranslateOptions } from "./translation.ts";

export interface SecretValue {
  readonly value: string;
  readonly secret: Resource;
}

/** The entry of a labelled Secret, or a violation. */
export function readSecret(
  { name, key, ...ref }: SecretRef,
  place: ReferenceOrigin,
  { read, isReferenceAllowed }: Pick<TranslateOptions, "read" | "isReferenceAllowed">,
): SecretValue | ResourceViolation {
  const { from, path } = place;
  const { namespace = from.namespace } = ref;
  const refused = crossNamespaceViolation({ kind: "Secret", namespace, name }, place, { isReferenceAllowed });
  if (refused) return refused;
  const fault = (member: "name" | "key", message: string): ResourceViolation => ({
    path: [...path, member],
    message,
    condition: "ResolvedRefs",
    reason: "SecretNotFound",
  });
  const secret = read("Secret", namespace, name);
  if (secret?.metadata.labels?.[CREDENTIAL_LABEL] === undefined) {
    return fault("name", `there is no Secret ${name} with the label ${CREDENTIAL_LABEL} in the namespace ${namespace}`);
  }
  const value = entryOf(secret, key);
  if (value === undefined) return fault("key", `the Secret ${name} has no entry ${key} in its data`);
  if (value === "") return fault("key", `the entry ${key} of the Secret ${name} is empty`);
  if (/[\r\n]$/.test(value)) return fault("key", `the entry ${key} of the Secret ${name} ends in a line break`);
  return { value, secret };
}

/**
 * The decoded value of an entry. People write `stringData`; the API server converts it to `data`, a directory does not.
 */
export function entryOf({ data, stringData }: Resource, key: string): string | undefined {
  const written = Object(stringData) as Readonly<Record<string, unknown>>;
  if (Object.hasOwn(written, key) && typeof written[key] === "string") return written[key];
  const encoded = data && Object.hasOwn(data, key) ? data[key] : undefined;
  return typeof encoded === "string" ? Buffer.from(encoded, "base64").toString("utf8") : undefined;
}

/** The label of every Secret that the admin listener creates. */
export const MANAGED_BY = { label: "app.kubernetes.io/managed-by", value: "sluice-admin" } as const;

/** Whether the admin listener created the Secret; it shows the values of these Secrets in clear text. */
export const isManaged = ({ metadata }: Pick<Resource, "metadata">): boolean =>
  metadata.labels?.[MANAGED_BY.label] === MANAGED_BY.value;

/** The hash by which nodes know a key. */
export const hashKey = (key: string): string => createHash("sha256").update(key, "utf8").digest("hex");

/** The entry's name in Secrets created here. */
const KEY = "key";

/**
 * A Secret for a credential's key, and the entry of `spec.keyAuth` that refers to it. The name is derived from the id,
 * so that writing the same credential again writes the same Secret.
 *
 * @throws TypeError when the credential has no key.
 */
export function credentialSecret(
  credential: Credential,
  { namespace }: { readonly namespace: string },
): { readonly secret: Resource; readonly entry: KeyAuthEntry } {
  const { id, key, tags, ttl, created_at } = credential;
  if (key === null) throw new TypeError("the credential has no key to store in a Secret");
  const name = `key-auth-${id}`;
  return {
    secret: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name,
        namespace,
        labels: { [CREDENTIAL_LABEL]: "key-auth" },
        annotations: { [CREATED_AT]: `${created_at}` },
      },
      type: "Opaque",
      data: { [KEY]: Buffer.from(key, "utf8").toString("base64") },
    },
    entry: { id, ...(tags !== null && { tags }), ...(ttl !== null && { ttl }), secretRef: { name, key: KEY } },
  };
}
