/**
 * The certificates to order, from a published document. A Certificate gets only names of SNIs that are served with it:
 * otherwise a namespace could obtain certificates for the names of another one.
 */
import type { OrderedCertificate } from "@sluice/acme";
import { acmeSecretName, namespacedName, type Resource } from "@sluice/crds";
import { bucketDifferences, emptySnapshot, type Snapshot } from "@sluice/model";
import type { SnapshotBuild } from "../document/build-snapshot.ts";
import { type SecretOwner, secretFault } from "./certificate-secret.ts";

export interface AcmeCertificate {
  readonly id: string;
  readonly owner: SecretOwner;
  readonly ordered: OrderedCertificate;
  /** Why nothing is ordered, as a sentence; null: it is ordered. */
  readonly refusal: string | null;
}

type Certificate = Snapshot["certificates"] extends ReadonlyMap<string, infer Entity> ? Entity : never;

export interface AcmeDocument {
  readonly built: Pick<SnapshotBuild, "snapshot" | "items">;
  /** The Certificates and Secrets, by namespace/name. */
  readonly resources: {
    readonly Certificate: ReadonlyMap<string, Resource>;
    readonly Secret: ReadonlyMap<string, Resource>;
  };
}

/** Follows the certificates with `acme` and the SNIs of successive documents, at the cost of what has changed. */
export function createOrderedCertificates() {
  const certificates = new Map<string, Certificate>();
  /** The id of the certificate that is served for a name. */
  const holders = new Map<string, string>();
  /** The names of each certificate. */
  const names = new Map<string, Set<string>>();
  let last: Snapshot = emptySnapshot;
  /** The snapshot whose SNIs are in `holders`. */
  let lastNames: Snapshot["snis"] = emptySnapshot.snis;

  function follow(snapshot: Snapshot): void {
    for (const { key, after } of bucketDifferences(last.certificates, snapshot.certificates)) {
      if (after?.acme) certificates.set(key, after);
      else certificates.delete(key);
    }
    last = snapshot;
    // Without any such certificate, the SNIs need not be followed.
    if (certificates.size === 0) return;
    const changes = bucketDifferences(lastNames, snapshot.snis);
    for (const { before } of changes) if (before) removeName(before.name.toLowerCase(), before.certificate.id);
    for (const { after } of changes) if (after) addName(after.name.toLowerCase(), after.certificate.id);
    lastNames = snapshot.snis;
  }

  function removeName(name: string, id: string): void {
    holders.delete(name);
    names.get(id)?.delete(name);
    if (names.get(id)?.size === 0) names.delete(id);
  }

  function addName(name: string, id: string): void {
    holders.set(name, id);
    names.getOrInsertComputed(id, () => new Set()).add(name);
  }

  /** The certificate that is served for a name: that of the name itself, or of a wildcard. */
  function holderOf(name: string): string | undefined {
    const labels = name.split(".");
    const candidates = [name, `*.${labels.slice(1).join(".")}`, `${labels.slice(0, -1).join(".")}.*`];
    return candidates.map((one) => holders.get(one)).find((id) => id !== undefined);
  }

  return {
    /** The certificates with `acme` of the document, by the id of the certificate. */
    of({ built, resources }: AcmeDocument): ReadonlyMap<string, AcmeCertificate> {
      follow(built.snapshot);
      const found = new Map<string, AcmeCertificate>();
      if (certificates.size === 0) return found;
      for (const [id, { acme, cert }] of certificates) {
        const place = built.items.certificates.get(id)?.owner;
        if (!acme || !place) continue;
        const key = namespacedName(place.namespace, place.name);
        const { uid } = resources.Certificate.get(key)?.metadata ?? {};
        const owner: SecretOwner = { namespace: place.namespace, name: place.name, uid };
        const snis = [...(names.get(id) ?? [])].sort();
        const foreign = (acme.domains ?? []).filter((domain) => holderOf(domain.toLowerCase()) !== id);
        const refusal =
          namesFault(foreign, acme.domains === null && snis.length === 0) ??
          secretFault(owner, resources.Secret.get(namespacedName(place.namespace, acmeSecretName(place.name))));
        found.set(id, { id, owner, ordered: { id, name: key, acme, snis, cert }, refusal });
      }
      return found;
    },
  };
}

/** @param foreign Names without an SNI of the certificate. */
function namesFault(foreign: readonly string[], isNameless: boolean): string | null {
  if (foreign.length > 0)
    return `no certificate is ordered for ${foreign.join(", ")}: each name needs an SNI of this Certificate that is served`;
  return isNameless ? "no certificate is ordered, because no SNI of this Certificate is served" : null;
}
