/** The certificates of a listener: Secrets that `tls.certificateRefs` names. */
import type { Resource } from "../../../resource.ts";
import { readCertificate } from "../../../translate/tls-secrets.ts";
import type { TranslateOptions } from "../../../translate/translation.ts";
import { type Finding, fails, type Listener, type ListenerOwnerKind, succeeds } from "../gateway-api.ts";

export interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

export interface ListenerCertificates {
  /** The Secrets that can be used. */
  readonly secrets: readonly SecretName[];
  readonly resolved: Finding;
}

/** @param owner The Gateway or the ListenerSet that has the listener. */
export function certificatesOf(
  owner: Resource,
  { name: listener, tls }: Listener,
  lookups: Pick<TranslateOptions, "read" | "isReferenceAllowed">,
): ListenerCertificates {
  const { namespace: own } = owner.metadata;
  const refs = tls?.certificateRefs ?? [];
  const secrets: SecretName[] = [];
  let fault: Finding | undefined =
    refs.length === 0
      ? fails("InvalidCertificateRef", `the listener ${listener} has no tls.certificateRefs: name a Secret`)
      : undefined;
  for (const [index, { group = "", kind = "Secret", namespace = own, name }] of refs.entries()) {
    const path = `tls.certificateRefs[${index}]`;
    if (group !== "" || kind !== "Secret") {
      fault ??= fails(
        "InvalidCertificateRef",
        `${path}: the kind ${kind} of ${group || "v1"} is not supported: name a Secret`,
      );
      continue;
    }
    const from = { kind: owner.kind as ListenerOwnerKind, namespace: own };
    const [violation] = readCertificate({ name, namespace }, { from, path: [path] }, lookups).violations;
    if (!violation) secrets.push({ namespace, name });
    else {
      const reason = violation.reason === "RefNotPermitted" ? violation.reason : "InvalidCertificateRef";
      fault ??= fails(reason, `${path}: ${violation.message}`);
    }
  }
  return { secrets, resolved: fault ?? succeeds("ResolvedRefs") };
}
