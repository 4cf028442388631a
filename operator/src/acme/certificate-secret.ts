/** The Secret beside a Certificate that Sluice obtained: type kubernetes.io/tls, owned by the Certificate. */
import { acmeSecretName, type Ref, type Resource, type ResourceClient } from "@sluice/crds";
import { apiVersion, TLS_SECRET_TYPE, tlsEntries } from "@sluice/model";
import { secretEntry } from "../certificates/certificate-secret.ts";

/** A Certificate with `acme`. */
export interface SecretOwner {
  readonly namespace: string;
  readonly name: string;
  /** Undefined: the resources are in a directory. */
  readonly uid: string | undefined;
}

/** The annotation of the operator's Secrets with the name of the Certificate. A directory keeps no owner references. */
export const CERTIFICATE_ANNOTATION = "sluice.dev/certificate";

export interface CertificateSecretOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly manager: string;
}

/** Maximum length of a Secret's name, as of a Certificate's. */
const MAX_NAME = 253;

/** Why the Secret cannot or must not be written. Null: it may be written. */
export function secretFault(owner: SecretOwner, found: Resource | null | undefined): string | null {
  const added = acmeSecretName("").length;
  if (owner.name.length + added > MAX_NAME)
    return (
      `no certificate is ordered, because metadata.name has ${owner.name.length} characters: the name of the Secret ` +
      `for the certificate is ${added} characters longer, and ${MAX_NAME} are allowed. Give the Certificate a ` +
      `metadata.name of at most ${MAX_NAME - added} characters`
    );
  if (!found) return null;
  if (found.metadata.annotations?.[CERTIFICATE_ANNOTATION] === owner.name) return null;
  return (
    `the Secret ${found.metadata.name} in the namespace ${owner.namespace} was not created for this Certificate: ` +
    "delete the Secret, or give the Certificate another metadata.name"
  );
}

/**
 * Creates or replaces the Secret, unless it has this certificate already.
 *
 * @throws Error when the Secret belongs to someone else; the errors of the client, such as missing permissions.
 */
export async function writeCertificate(
  owner: SecretOwner,
  { cert, key }: { readonly cert: string; readonly key: string },
  { client, manager }: CertificateSecretOptions,
): Promise<void> {
  const { namespace, name, uid = "" } = owner;
  const ref: Ref = { kind: "Secret", namespace, name: acmeSecretName(name) };
  const found = await client.get(ref);
  const fault = secretFault(owner, found);
  if (fault) throw new Error(fault);
  const texts = { [tlsEntries.cert]: cert, [tlsEntries.key]: key };
  if (found && Object.entries(texts).every(([entry, text]) => secretEntry(found, entry) === text)) return;
  const secret: Resource = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name: ref.name,
      namespace,
      annotations: { [CERTIFICATE_ANNOTATION]: name },
      // With the Certificate, Kubernetes deletes the Secret.
      ownerReferences: [{ apiVersion, kind: "Certificate", name, uid }],
    },
    type: TLS_SECRET_TYPE,
    data: Object.fromEntries(
      Object.entries(texts).map(([entry, text]) => [entry, Buffer.from(text).toString("base64")]),
    ),
  };
  const { uid: foundUid = "", resourceVersion = "" } = found?.metadata ?? {};
  const expect = found ? { uid: foundUid, resourceVersion } : ("absent" as const);
  await client.apply("Secret", secret, { manager, force: true, expect });
}
