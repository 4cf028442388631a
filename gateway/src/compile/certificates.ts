/** Selects the certificate for a client by the server name in its handshake (SNI, RFC 6066 section 3). */
import {
  BucketMap,
  byHash,
  type Certificate,
  differences,
  emptySnapshot,
  type Snapshot,
  type Sni,
} from "@sluice/model/serving";
import type { CertificateIndex } from "./runtime.ts";

/** SNI name of the default certificate: for every name, and for clients without SNI. */
const ANY = "*";

/** SNI names that match a server name, most specific first: itself, `*.example.com`, `api.*`, `*`. */
function candidates(serverName: string): readonly string[] {
  const name = serverName.toLowerCase().replace(/\.$/, "");
  const [first, last] = [name.indexOf("."), name.lastIndexOf(".")];
  return first < 0 ? [name, ANY] : [name, `*${name.slice(first)}`, `${name.slice(0, last)}.*`, ANY];
}

type Sections = Pick<Snapshot, "certificates" | "snis">;

export class Certificates implements CertificateIndex {
  readonly #sections: Sections;
  /** By lower-case name. */
  readonly #byName: BucketMap<Sni>;

  private constructor(sections: Sections, byName: BucketMap<Sni>) {
    this.#sections = sections;
    this.#byName = byName;
  }

  static readonly empty = new Certificates(emptySnapshot, new BucketMap(byHash));

  /** The same object when neither SNIs nor certificates changed. */
  with({ certificates, snis }: Sections): Certificates {
    const before = this.#sections;
    if (before.certificates === certificates && before.snis === snis) return this;
    const changed = differences(before.snis, snis);
    // One change may move a name from one SNI to another.
    const names = new Map<string, Sni | undefined>([
      ...changed.flatMap(({ before: left }) => (left ? [[left.name.toLowerCase(), undefined] as const] : [])),
      ...changed.flatMap(({ after }) => (after ? [[after.name.toLowerCase(), after] as const] : [])),
    ]);
    return new Certificates({ certificates, snis }, this.#byName.with(names));
  }

  find(serverName: string | null): Certificate | undefined {
    const names = serverName ? candidates(serverName) : [ANY];
    return names.map((name) => this.#named(name)).find((certificate) => certificate !== undefined);
  }

  #named(name: string): Certificate | undefined {
    return this.#sections.certificates.get(this.#byName.get(name)?.certificate?.id ?? "");
  }
}
