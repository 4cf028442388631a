/** Which certificate a client is shown: by the server name that it asks for (RFC 6066 section 3). */
import type { Certificate, Snapshot } from "@sluice/model";
import type { CertificateIndex } from "../runtime/runtime.ts";

/** The certificate for every name, and for clients that name none. */
const ANY = "*";

/** Names that would do for a server name, the closest first: itself, `*.example.com`, `api.*`, `*`. */
function candidates(serverName: string): readonly string[] {
  const name = serverName.toLowerCase().replace(/\.$/, "");
  const [first, last] = [name.indexOf("."), name.lastIndexOf(".")];
  return first < 0 ? [name, ANY] : [name, `*${name.slice(first)}`, `${name.slice(0, last)}.*`, ANY];
}

export class Certificates implements CertificateIndex {
  readonly #byName: ReadonlyMap<string, Certificate>;

  private constructor(byName: ReadonlyMap<string, Certificate>) {
    this.#byName = byName;
  }

  /** Shared with the snapshot before while neither names nor certificates changed. */
  static of(
    { certificates, snis }: Snapshot,
    previous: { readonly index: Certificates; readonly snapshot: Snapshot } | null,
  ): Certificates {
    if (previous?.snapshot.certificates === certificates && previous.snapshot.snis === snis) return previous.index;
    const byName = new Map<string, Certificate>();
    for (const { name, certificate } of snis.values()) {
      const found = certificate && certificates.get(certificate.id);
      if (found) byName.set(name.toLowerCase(), found);
    }
    return new Certificates(byName);
  }

  find(serverName: string | null): Certificate | undefined {
    const names = serverName ? candidates(serverName) : [ANY];
    return names.map((name) => this.#byName.get(name)).find((certificate) => certificate !== undefined);
  }
}
