/** Certificate -> certificate and its SNIs. */
import { type CertificateSpec, deriveId, kinds } from "@sluice/model";
import { type Child, childrenOf, parentViolations, timesOf } from "./children.ts";
import type { Reading } from "./reading.ts";
import { readCertificate } from "./tls-secrets.ts";
import type { Translated, TranslateOptions } from "./translation.ts";

/** A faulty server name is a fault of its own item: the certificate and its other names are served. */
export function certificateEntities(reading: Reading, options: TranslateOptions): readonly Translated[] {
  const { identity, times, members, namespace } = reading;
  const { secretRef } = reading.own as Partial<CertificateSpec>;
  const path = ["spec", "secretRef"];
  const place = [...path, "name"];
  const from = { kind: identity.kind, namespace };
  const found = secretRef && readCertificate(secretRef, { from, path }, options);
  const certificate: Translated = {
    collection: "certificates",
    item: { ...times, ...members, ...found?.members, id: identity.id },
    base: ["spec"],
    places: { cert: place, key: place, cert_alt: place, key_alt: place },
    violations: [...parentViolations(reading, "snis"), ...(found?.violations ?? [])],
  };
  const entries = childrenOf(reading, "snis", kinds.Certificate.spec.properties?.snis);
  return [certificate, ...entries.map((entry) => sni(reading, entry))];
}

function sni(reading: Reading, { own, members, base, index, violations }: Child): Translated {
  const name = typeof members.name === "string" ? members.name : `${reading.identity.id}/${index}`;
  const id = typeof own.id === "string" ? own.id.toLowerCase() : deriveId("snis", name);
  const { created_at, updated_at } = timesOf(reading, id);
  return {
    collection: "snis",
    item: {
      created_at: created_at && Math.trunc(created_at),
      updated_at: updated_at && Math.trunc(updated_at),
      ...members,
      id,
      certificate: { id: reading.identity.id },
    },
    base,
    places: { certificate: ["spec"] },
    violations,
  };
}
