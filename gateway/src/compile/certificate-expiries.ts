/** When the certificates that are served expire. To parse one takes a tenth of a millisecond, so that it is done aside. */
import { X509Certificate } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Certificate, differences, emptySnapshot, type Snapshot } from "@sluice/model/serving";

type Sections = Pick<Snapshot, "certificates" | "snis">;

export interface ServedCertificate {
  readonly certificate: string;
  readonly serverName: string;
  /** Unix seconds. */
  readonly expires: number;
}

/** Certificates that are parsed in one turn of the event loop. */
const TOGETHER = 10;
/** Names that are told of at the most. */
const MOST = 10_000;

export class CertificateExpiries {
  #sections: Sections = emptySnapshot;
  /** Unix seconds, by the certificate's id. */
  readonly #expiries = new Map<string, number>();
  readonly #unread = new Map<string, Certificate>();
  #reading: Promise<void> | null = null;

  /** From now on those of the snapshot are told of, as soon as they have been read. */
  follow({ certificates, snis }: Sections): void {
    for (const { key, after } of differences(this.#sections.certificates, certificates)) {
      this.#expiries.delete(key);
      if (after === undefined) this.#unread.delete(key);
      else this.#unread.set(key, after);
    }
    this.#sections = { certificates, snis };
    if (this.#unread.size > 0) this.#reading ??= this.#read();
  }

  /** Resolves when everything is read. */
  async read(): Promise<void> {
    await this.#reading;
  }

  *served(): Generator<ServedCertificate> {
    for (const { name, certificate } of this.#sections.snis.values().take(MOST)) {
      const expires = this.#expiries.get(certificate?.id ?? "");
      if (expires !== undefined) yield { certificate: certificate?.id ?? "", serverName: name, expires };
    }
  }

  async #read(): Promise<void> {
    while (this.#unread.size > 0) {
      await nextTurn();
      for (const [id, certificate] of this.#unread.entries().take(TOGETHER)) {
        this.#unread.delete(id);
        this.#expiries.set(id, expiryOf(certificate));
      }
    }
    this.#reading = null;
  }
}

/** Of two the earlier: clients may be shown either. */
function expiryOf({ cert, cert_alt }: Certificate): number {
  const leaves = [cert, cert_alt].filter((pem) => pem !== null).map((pem) => new X509Certificate(pem));
  return Math.min(...leaves.map(({ validToDate }) => validToDate.getTime() / 1000));
}
