/** `clientCertificateRef` of Services and Upstreams. */
import type { NameRef } from "@sluice/model";
import type { Reading } from "./reading.ts";
import { resolveReference } from "./reference.ts";
import type { Path, Translated, TranslateOptions } from "./translation.ts";

interface ClientCertificate extends Pick<Translated, "violations" | "refersTo"> {
  readonly member: { readonly client_certificate?: { readonly id?: string } };
  readonly places: Readonly<Record<string, Path>>;
}

export function clientCertificate({ own, namespace, identity }: Reading, options: TranslateOptions): ClientCertificate {
  const ref = own.clientCertificateRef as NameRef | undefined;
  if (ref?.name === undefined) return { member: {}, places: {}, violations: [], refersTo: [] };
  const path = ["spec", "clientCertificateRef"];
  const from = { kind: identity.kind, namespace };
  const { reference, violations, refersTo } = resolveReference("Certificate", ref, { from, path }, options);
  return {
    member: { client_certificate: reference },
    places: { client_certificate: [...path, "name"] },
    violations,
    refersTo: refersTo ? [refersTo] : [],
  };
}
