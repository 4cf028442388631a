/** Certificates with keys in core Secrets: reads them for a translation, and creates the Secret of a certificate. */
import {
  type Certificate,
  checkEntity,
  type NameRef,
  TLS_SECRET_TYPE,
  tlsEntries,
  type Violation,
} from "@sluice/model";
import type { Resource } from "../resource.ts";
import { crossNamespaceViolation, type ReferenceOrigin } from "./resolve-reference.ts";
import { entryOf } from "./secrets.ts";
import type { ResourceViolation, TranslateOptions } from "./translation.ts";

type Member = keyof typeof tlsEntries;
const members = Object.entries(tlsEntries) as [Member, string][];

export interface FoundCertificate {
  /** `cert` and `key`, and `cert_alt` and `key_alt` if the Secret has them; empty when there is any violation. */
  readonly members: Partial<Record<Member, string>>;
  readonly violations: readonly ResourceViolation[];
}

/** The certificate of a kubernetes.io/tls Secret, validated here so that errors name the Secret. */
export function readCertificate(
  { name, ...ref }: NameRef,
  place: ReferenceOrigin,
  { read, isReferenceAllowed }: Pick<TranslateOptions, "read" | "isReferenceAllowed">,
): FoundCertificate {
  const { namespace = place.from.namespace } = ref;
  const path = [...place.path, "name"];
  const refused = crossNamespaceViolation({ kind: "Secret", namespace, name }, place, { isReferenceAllowed });
  if (refused) return { members: {}, violations: [refused] };
  const secret = read("Secret", namespace, name);
  const {
    members: given,
    faults,
    reason,
  } = secret?.type === TLS_SECRET_TYPE
    ? contents.getOrInsertComputed(secret, contentOf)
    : faulty("SecretNotFound", [
        `there is no Secret ${name} of the type ${TLS_SECRET_TYPE} in the namespace ${namespace}`,
      ]);
  return {
    members: given,
    violations: faults.map((message) => ({ path, message, condition: "ResolvedRefs", reason })),
  };
}

/** Name of the Secret beside a Certificate with `acme`, in which the operator stores certificate and key. */
export const acmeSecretName = (certificate: string): string => `${certificate}-acme`;

/**
 * The certificate that the operator has ordered for a Certificate; empty when there is none. A damaged one counts as
 * missing: the operator orders a new one.
 */
export function readOrderedCertificate(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { read }: Pick<TranslateOptions, "read">,
): FoundCertificate["members"] {
  const secret = read("Secret", namespace, acmeSecretName(name));
  if (secret?.type !== TLS_SECRET_TYPE) return {};
  return contents.getOrInsertComputed(secret, contentOf).members;
}

/** What a Secret contains; `faults` are sentences. */
interface Content extends Pick<FoundCertificate, "members"> {
  readonly faults: readonly string[];
  readonly reason: ResourceViolation["reason"];
}

/** Many listeners and Certificates can use one Secret, and parsing it is slow. */
const contents = new WeakMap<Resource, Content>();

const faulty = (reason: Content["reason"], faults: readonly string[]): Content => ({ members: {}, faults, reason });

function contentOf(secret: Resource): Content {
  const { name } = secret.metadata;
  const found = members.map(([member, entry]) => [member, entryOf(secret, entry) || undefined] as const);
  const given = Object.fromEntries(found.filter(([, text]) => text !== undefined)) as FoundCertificate["members"];
  const missing = (["cert", "key"] as const).filter((member) => given[member] === undefined);
  if (missing.length > 0)
    return faulty(
      "SecretNotFound",
      missing.map((member) => `the Secret ${name} has no entry ${tlsEntries[member]} in its data`),
    );
  const { violations } = checkEntity("certificates", given);
  if (violations)
    return faulty(
      "Invalid",
      violations.map((violation) => sentence(name, violation)),
    );
  return { members: given, faults: [], reason: "Invalid" };
}

/** The model's message in terms of the Secret. It quotes neither certificate nor key. */
function sentence(secret: string, { path: [member], message }: Violation): string {
  const entry = tlsEntries[member as Member];
  const words = members.reduce((text, [name, written]) => text.replaceAll(`'${name}'`, `'${written}'`), message);
  return entry === undefined
    ? `the Secret ${secret}: ${words}`
    : `the entry ${entry} of the Secret ${secret}: ${words}`;
}

/**
 * A Secret for a certificate and its key, and the reference to it for `spec.secretRef`. The name is derived from the
 * id, so that writing the same certificate again writes the same Secret.
 */
export function certificateSecret(
  certificate: Certificate,
  { namespace }: { readonly namespace: string },
): { readonly secret: Resource; readonly secretRef: NameRef } {
  const name = `certificate-${certificate.id}`;
  const data = members.flatMap(([member, entry]) => {
    const text = certificate[member];
    return text === null ? [] : [[entry, Buffer.from(text, "utf8").toString("base64")]];
  });
  return {
    secret: {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name, namespace },
      type: TLS_SECRET_TYPE,
      data: Object.fromEntries(data),
    },
    secretRef: { name },
  };
}
