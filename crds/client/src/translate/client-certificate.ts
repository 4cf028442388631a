/** `clientCertificateRef` of Services and Upstreams. */
import type { NameRef } from "@sluice/model";
import type { Reading } from "./reading.ts";
import { resolveReference } from "./reference.ts";
import type { Path, Translated, TranslateOptions } from "./translation.ts";

interface ClientCertificate extends Pick<Translated, "violations" | "refersTo"> {
  readonly member: { readonly client_certificate?: { readonly id?: string } };
  readonly places: Readonly<Record<string, Path>>;
}

export function clientCertificate({ own, namespace }: Reading, options: TranslateOptions): ClientCertificate {
  const { name } = Object(own.clientCertificateRef) as Partial<NameRef>;
  if (name === undefined) return { member: {}, places: {}, violations: [], refersTo: [] };
  const place = ["spec", "clientCertificateRef", "name"];
  const { reference, violations } = resolveReference({ kind: "Certificate", namespace, name }, place, options);
  return {
    member: { client_certificate: reference },
    places: { client_certificate: place },
    violations,
    refersTo: [{ kind: "Certificate", name }],
  };
}
