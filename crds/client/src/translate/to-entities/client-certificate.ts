/** `clientCertificateRef` of Services and Upstreams. */
import type { NameRef } from "@sluice/model";
import type { Path, TranslatedEntity, TranslateOptions } from "../translation.ts";
import { resolveReference } from "./resolve-reference.ts";
import type { TranslatorInput } from "./translator-input.ts";

interface ClientCertificate extends Pick<TranslatedEntity, "violations" | "references"> {
  readonly member: { readonly client_certificate?: { readonly id?: string } };
  readonly places: Readonly<Record<string, Path>>;
}

export function clientCertificate(
  { own, namespace, identity }: TranslatorInput,
  options: TranslateOptions,
): ClientCertificate {
  const ref = own.clientCertificateRef as NameRef | undefined;
  if (ref?.name === undefined) return { member: {}, places: {}, violations: [], references: [] };
  const path = ["spec", "clientCertificateRef"];
  const from = { kind: identity.kind, namespace };
  const { reference, violations, refersTo } = resolveReference("Certificate", ref, { from, path }, options);
  return {
    member: { client_certificate: reference },
    places: { client_certificate: [...path, "name"] },
    violations,
    references: refersTo ? [refersTo] : [],
  };
}
