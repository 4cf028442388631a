/** The certificates of a listener: Secrets that `tls.certificateRefs` names. */
import type { CertificateDetails } from "@sluice/model";
import type { Resource } from "../../../resource.ts";
import { readCertificate } from "../../../translate/tls-secrets.ts";
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

/** A Secret with the certificate of a listener. */
export interface ListenerCertificate extends SecretName {
  readonly details: CertificateDetails | null;
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
    const { details, violations } = readCertificate({ name, namespace }, { from, path: [path] }, lookups);
    const [violation] = violations;
    if (!violation) certificates.push({ namespace, name, details });
    else {
      const reason = violation.reason === "RefNotPermitted" ? violation.reason : "InvalidCertificateRef";
      fault ??= falseFinding(reason, `${path}: ${violation.message}`);
    }
  }
  return { certificates, resolved: fault ?? trueFinding("ResolvedRefs") };
}
