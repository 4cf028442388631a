/** Certificate -> certificate and its SNIs. */
import { type CertificateSpec, deriveId, kinds } from "@sluice/model";
import { readCertificate } from "../tls-secrets.ts";
import type { TranslatedEntity, TranslateOptions } from "../translation.ts";
import { type NestedEntry, nestedEntriesOf, nestedTimesOf, parentViolations } from "./nested-entries.ts";
import type { TranslatorInput } from "./translator-input.ts";

/** An invalid server name is a violation of its own item only: the certificate and its other names are served. */
export function certificateEntities(reading: TranslatorInput, options: TranslateOptions): readonly TranslatedEntity[] {
  const { identity, times, members, namespace } = reading;
  const { secretRef } = reading.own as Partial<CertificateSpec>;
  const path = ["spec", "secretRef"];
  const place = [...path, "name"];
  const from = { kind: identity.kind, namespace };
  const found = secretRef && readCertificate(secretRef, { from, path }, options);
  const certificate: TranslatedEntity = {
    collection: "certificates",
    item: { ...times, ...members, ...found?.members, id: identity.id },
    basePath: ["spec"],
    sourcePaths: { cert: place, key: place, cert_alt: place, key_alt: place },
    violations: [...parentViolations(reading, "snis"), ...(found?.violations ?? [])],
  };
  const entries = nestedEntriesOf(reading, "snis", kinds.Certificate.spec.properties?.snis);
  return [certificate, ...entries.map((entry) => sni(reading, entry))];
}

function sni(reading: TranslatorInput, { own, members, base, index, violations }: NestedEntry): TranslatedEntity {
  const name = typeof members.name === "string" ? members.name : `${reading.identity.id}/${index}`;
  const id = typeof own.id === "string" ? own.id.toLowerCase() : deriveId("snis", name);
  const { created_at, updated_at } = nestedTimesOf(reading, id);
  return {
    collection: "snis",
    item: {
      created_at: created_at && Math.trunc(created_at),
      updated_at: updated_at && Math.trunc(updated_at),
      ...members,
      id,
      certificate: { id: reading.identity.id },
    },
    basePath: base,
    sourcePaths: { certificate: ["spec"] },
    violations,
  };
}
