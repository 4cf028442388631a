/** Members that several kinds have. */
import type { NameRef } from "@sluice/model";
import { qualifiedName } from "../identity.ts";
import { resolveReference } from "../resolve-reference.ts";
import type { Path, TranslatedEntity, TranslateOptions } from "../translation.ts";
import type { TranslatorInput } from "./translator-input.ts";

interface EntityName {
  /** An empty `spec.name` means that the entity has no name. */
  readonly member: { readonly name: string | null };
  readonly places: { readonly name: Path };
}

/** The member `name` of services, routes and upstreams. */
export function entityName({ own, resource }: TranslatorInput, { homeNamespace }: TranslateOptions): EntityName {
  const given = typeof own.name === "string" ? own.name : undefined;
  return {
    member: { name: given === "" ? null : (given ?? qualifiedName(resource, homeNamespace)) },
    places: { name: given === undefined ? ["metadata", "name"] : ["spec", "name"] },
  };
}

interface ClientCertificate extends Pick<TranslatedEntity, "violations" | "references"> {
  readonly member: { readonly client_certificate?: { readonly id?: string } };
  readonly places: Readonly<Record<string, Path>>;
}

/** `clientCertificateRef` of Services and Upstreams. */
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
