/** Which certificate a client is shown: by the server name that it asks for (RFC 6066 section 3). */
import {
  BucketMap,
  byHash,
  type Certificate,
  differences,
  emptySnapshot,
  type Snapshot,
  type Sni,
} from "@sluice/model/serving";
import type { CertificateIndex } from "../runtime/runtime.ts";

/** The certificate for every name, and for clients that name none. */
const ANY = "*";

/** Names that would do for a server name, the closest first: itself, `*.example.com`, `api.*`, `*`. */
function candidates(serverName: string): readonly string[] {
  const name = serverName.toLowerCase().replace(/\.$/, "");
  const [first, last] = [name.indexOf("."), name.lastIndexOf(".")];
  return first < 0 ? [name, ANY] : [name, `*${name.slice(first)}`, `${name.slice(0, last)}.*`, ANY];
}

type Sections = Pick<Snapshot, "certificates" | "snis">;

export class Certificates implements CertificateIndex {
  readonly #sections: Sections;
  /** Names in lower case. */
  readonly #byName: BucketMap<Sni>;

  private constructor(sections: Sections, byName: BucketMap<Sni>) {
    this.#sections = sections;
    this.#byName = byName;
  }

  static readonly empty = new Certificates(emptySnapshot, new BucketMap(byHash));

  /** These when neither names nor certificates changed. */
  with({ certificates, snis }: Sections): Certificates {
    const before = this.#sections;
    if (before.certificates === certificates && before.snis === snis) return this;
    const changed = differences(before.snis, snis);
    // A name that one leaves, another may take.
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
