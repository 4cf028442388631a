/** Keys and passwords in core Secrets: reads them for a translation, and creates the Secret of a credential. */
import {
  CREDENTIAL_LABEL,
  type CredentialCollection,
  type Entities,
  entities,
  entitySecrets,
  type SecretRef,
} from "@sluice/model";
import type { Resource } from "../resource.ts";
import { crossNamespaceViolation, type ReferenceOrigin } from "./resolve-reference.ts";
import { CREATED_AT } from "./timestamps.ts";
import type { ResourceViolation, TranslateOptions } from "./translation.ts";

export interface SecretValue {
  readonly value: string;
  readonly secret: Resource;
}

/** The value of the entry and the Secret, or a violation if there is no labelled Secret with a usable entry. */
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
  const addLabel = `kubectl -n ${namespace} label secret ${name} ${CREDENTIAL_LABEL}=`;
  // In a cluster, only Secrets with the label are read, so a Secret without it cannot be told from a missing one.
  if (secret === undefined)
    return fault(
      "name",
      `there is no Secret ${name} with the label ${CREDENTIAL_LABEL} in the namespace ${namespace}: ` +
        `create it, or add the label. In a cluster, if the Secret exists: \`${addLabel}\`, otherwise: ` +
        `\`kubectl -n ${namespace} create secret generic ${name} --from-literal=${key}=VALUE && ${addLabel}\``,
    );
  if (secret.metadata.labels?.[CREDENTIAL_LABEL] === undefined)
    return fault(
      "name",
      `the Secret ${name} in the namespace ${namespace} lacks the label ${CREDENTIAL_LABEL} (in a cluster: \`${addLabel}\`)`,
    );
  const value = entryOf(secret, key);
  if (value === undefined) return fault("key", `the Secret ${name} has no entry ${key} in its data`);
  if (value === "") return fault("key", `the entry ${key} of the Secret ${name} is empty`);
  // Files often end in a line break that is not part of the secret. A Secret that the admin API wrote has exactly the
  // value that a client sent, so a line break belongs to it.
  if (/[\r\n]$/.test(value) && !isManaged(secret))
    return fault("key", `the entry ${key} of the Secret ${name} ends in a line break`);
  return { value, secret };
}

/**
 * The decoded value of an entry; undefined: there is none. People write `stringData`, which the API server converts to
 * `data`. A directory does not convert it.
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

/**
 * The Secret that contains the key, secret or password of a credential, and the reference to this Secret. The Secret's
 * name is derived from the credential's id, so that writing the same credential again writes the same Secret. Null for
 * a credential without a key, secret or password, such as an ACL group.
 */
export function credentialSecret<Name extends CredentialCollection>(
  collection: Name,
  credential: Entities[Name],
  { namespace }: { readonly namespace: string },
): { readonly secret: Resource; readonly secretRef: SecretRef } | null {
  const [member = ""] = entitySecrets[collection];
  const value: unknown = Reflect.get(credential, member);
  if (typeof value !== "string") return null;
  const plugin = entities[collection].credential?.segments.nested ?? collection;
  const name = `${plugin}-${credential.id}`;
  return {
    secret: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: {
        name,
        namespace,
        labels: { [CREDENTIAL_LABEL]: plugin },
        annotations: { [CREATED_AT]: `${credential.created_at}` },
      },
      type: "Opaque",
      data: { [member]: Buffer.from(value, "utf8").toString("base64") },
    },
    secretRef: { name, key: member },
  };
}
