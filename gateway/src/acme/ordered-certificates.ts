/** The certificates of a snapshot that Sluice orders. */
import type { OrderedCertificate } from "@sluice/acme";
import { bucketDifferences, emptySnapshot, type Snapshot } from "@sluice/model/serving";

type Sections = Pick<Snapshot, "certificates" | "snis">;

/** Finds the certificates again only if certificates or SNIs have changed, and reads SNIs only if there are such certificates. */
export class OrderedCertificates {
  #sections: Sections = emptySnapshot;
  /** The ids of certificates with `acme`. */
  readonly #ids = new Set<string>();

  /** Null: nothing has changed for them. */
  after({ certificates, snis }: Sections): readonly OrderedCertificate[] | null {
    const before = this.#sections;
    if (before.certificates === certificates && (before.snis === snis || this.#ids.size === 0)) return null;
    const hadAny = this.#ids.size > 0;
    for (const { key, after } of bucketDifferences(before.certificates, certificates)) {
      if ((after?.acme ?? null) === null) this.#ids.delete(key);
      else this.#ids.add(key);
    }
    this.#sections = { certificates, snis };
    if (this.#ids.size === 0) return hadAny ? [] : null;
    const names = Map.groupBy(
      snis.values().filter(({ certificate }) => this.#ids.has(certificate?.id ?? "")),
      ({ certificate }) => certificate?.id,
    );
    return [...this.#ids].flatMap((id) => {
      const { acme = null, cert = null } = certificates.get(id) ?? {};
      const own = (names.get(id) ?? []).map(({ name }) => name).sort();
      return acme === null ? [] : [{ id, name: own[0] ?? id, acme, snis: own, cert }];
    });
  }
}
