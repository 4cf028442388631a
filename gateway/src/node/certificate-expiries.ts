/** Expiry times of the served certificates. They are parsed in batches between requests, because each takes 0.1 ms. */
import { X509Certificate } from "node:crypto";
import { setImmediate as nextTurn } from "node:timers/promises";
import {
  bucketDifferences,
  emptySnapshot,
  type IssuedCertificate,
  isIssued,
  type Snapshot,
  type SnapshotCertificate,
} from "@sluice/model/serving";
import type { ServedCertificate } from "../metrics/metrics.ts";

type Sections = Pick<Snapshot, "certificates" | "snis" | "listeners">;

const BATCH_SIZE = 10;
const MAX_NAMES = 10_000;

export class CertificateExpiries {
  #sections: Sections = emptySnapshot;
  /** Unix seconds, by the certificate's id. */
  readonly #expiries = new Map<string, number>();
  readonly #unread = new Map<string, IssuedCertificate>();
  #reading: Promise<void> | null = null;

  /** Reports the certificates of this snapshot from now on, each as soon as it is parsed. */
  reportSnapshot({ certificates, snis, listeners }: Sections): void {
    for (const { key, after } of bucketDifferences(this.#sections.certificates, certificates)) {
      this.#expiries.delete(key);
      if (after === undefined) this.#unread.delete(key);
      else if (isIssued(after)) this.#unread.set(key, after);
    }
    this.#sections = { certificates, snis, listeners };
    if (this.#unread.size > 0) this.#reading ??= this.#read();
  }

  /** Resolves when all certificates are parsed. */
  async read(): Promise<void> {
    await this.#reading;
  }

  /** Certificates of a listener of the document have its hostname as their name, or `*` if it serves all hosts. */
  *served(): Generator<ServedCertificate> {
    for (const [serverName, id] of this.#names().take(MAX_NAMES)) {
      const expires = this.#expiries.get(id);
      if (expires !== undefined) yield { certificate: id, serverName, expires };
    }
  }

  /** The names for which certificates are presented, with the ids of the certificates. */
  *#names(): Generator<readonly [serverName: string, certificate: string]> {
    const { certificates, snis } = this.#sections;
    for (const { name, certificate } of snis.values()) yield [name, certificate?.id ?? ""];
    for (const certificate of certificates.values())
      for (const name of this.#listenerNames(certificate)) yield [name, certificate.id];
  }

  /** Listeners with the same hostname, such as on different ports, have one entry. */
  #listenerNames({ _sluice }: SnapshotCertificate): ReadonlySet<string> {
    const served = (_sluice?.listeners ?? []).flatMap((name) => this.#sections.listeners.get(name) ?? []);
    return new Set(served.map(({ hostname = "*" }) => hostname));
  }

  async #read(): Promise<void> {
    while (this.#unread.size > 0) {
      await nextTurn();
      for (const [id, certificate] of this.#unread.entries().take(BATCH_SIZE)) {
        this.#unread.delete(id);
        this.#expiries.set(id, expiryOf(certificate));
      }
    }
    this.#reading = null;
  }
}

/** The earlier of the two expiries, because clients may get either certificate. */
function expiryOf({ cert, cert_alt }: IssuedCertificate): number {
  return Math.min(...[cert, cert_alt].filter((pem) => pem !== null).map(certificateExpiry));
}

/** Unix seconds at which the first certificate in a PEM text expires. */
export const certificateExpiry = (pem: string): number => new X509Certificate(pem).validToDate.getTime() / 1000;
