/** The certificates of a listener: Secrets that `tls.certificateRefs` names. */
import { type CertificateDetails, certificateDetails, tlsEntries, validityFault } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import { type FoundCertificate, readCertificate } from "../../../translate/tls-secrets.ts";
import type { TranslateOptions } from "../../../translate/translation.ts";
import {
  type ConditionFinding,
  falseFinding,
  type Listener,
  type ListenerOwnerKind,
  trueFinding,
} from "../gateway-api.ts";

export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

/** A Secret with the certificates of a listener: that of `tls.crt`, and perhaps that of `tls-alt.crt`. */
export interface ListenerCertificate extends SecretName {
  readonly members: Pick<FoundCertificate["members"], "cert" | "cert_alt">;
}

export interface ListenerCertificates {
  /** Those that can be used. They may have expired. */
  readonly certificates: readonly ListenerCertificate[];
  readonly resolved: ConditionFinding;
}

/** @param owner The Gateway or the ListenerSet that has the listener. */
export function certificatesOf(
  owner: Resource,
  { name: listener, tls }: Listener,
  lookups: Pick<TranslateOptions, "read" | "isReferenceAllowed">,
): ListenerCertificates {
  const { namespace: own } = owner.metadata;
  const refs = tls?.certificateRefs ?? [];
  const certificates: ListenerCertificate[] = [];
  let fault: ConditionFinding | undefined =
    refs.length === 0
      ? falseFinding("InvalidCertificateRef", `the listener ${listener} has no tls.certificateRefs: name a Secret`)
      : undefined;
  for (const [index, { group = "", kind = "Secret", namespace = own, name }] of refs.entries()) {
    const path = `tls.certificateRefs[${index}]`;
    if (group !== "" || kind !== "Secret") {
      fault ??= falseFinding(
        "InvalidCertificateRef",
        `${path}: the kind ${kind} of ${group || "v1"} is not supported: name a Secret`,
      );
      continue;
    }
    const from = { kind: owner.kind as ListenerOwnerKind, namespace: own };
    const { members, violations } = readCertificate({ name, namespace }, { from, path: [path] }, lookups);
    const [violation] = violations;
    if (!violation) certificates.push({ namespace, name, members });
    else {
      const reason = violation.reason === "RefNotPermitted" ? violation.reason : "InvalidCertificateRef";
      fault ??= falseFinding(reason, `${path}: ${violation.message}`);
    }
  }
  return { certificates, resolved: fault ?? trueFinding("ResolvedRefs") };
}

/** Parsing is slow, and many listeners can use one Secret. The members are the same until the Secret changes. */
const parsed = new WeakMap<ListenerCertificate["members"], readonly ParsedCertificate[]>();

type ParsedCertificate = readonly [entry: string, details: CertificateDetails];

const parse = (members: ListenerCertificate["members"]): readonly ParsedCertificate[] =>
  (["cert", "cert_alt"] as const).flatMap((member) => {
    const details = certificateDetails(members[member] ?? "");
    return details ? [[tlsEntries[member], details] as const] : [];
  });

/**
 * One clause for each certificate that clients refuse, or will refuse soon. The listener of such a certificate is still
 * served, because some clients do not check certificates.
 *
 * @param now Milliseconds since 1970.
 */
export const validityProblems = (certificates: readonly ListenerCertificate[], now: number): string =>
  certificates
    .flatMap(({ namespace, name, members }) =>
      parsed.getOrInsertComputed(members, parse).flatMap(([entry, details]) => {
        const fault = validityFault(details, now);
        return fault === null ? [] : [`the certificate ${entry} of the Secret ${namespace}/${name} ${fault}`];
      }),
    )
    .join("; ");
