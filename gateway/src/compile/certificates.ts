/**
 * Selects the certificate for a client by the server name in its handshake (SNI, RFC 6066 section 3), on the node's own
 * TLS listener. Certificates of the document's listeners are not presented there.
 */
import {
  bucketDifferences,
  emptySnapshot,
  type IssuedCertificate,
  isIssued,
  type Snapshot,
  type Sni,
} from "@sluice/model/serving";
import { GroupIndex } from "./identities/group-index.ts";

/**
 * An SNI name that matches every server name, and clients without SNI. The model rejects it, so only tests use it:
 * Sluice has no default certificate.
 */
const ANY = "*";

/** SNI names that match a server name, most specific first. For `a.b.c`: `a.b.c`, `*.b.c`, `a.b.*`, `*`. */
function candidates(serverName: string): readonly string[] {
  const name = serverName.toLowerCase().replace(/\.$/, "");
  const [first, last] = [name.indexOf("."), name.lastIndexOf(".")];
  return first < 0 ? [name, ANY] : [name, `*${name.slice(first)}`, `${name.slice(0, last)}.*`, ANY];
}

type Sections = Pick<Snapshot, "certificates" | "snis">;

export interface NamedCertificate {
  readonly sni: string;
  readonly certificate: IssuedCertificate;
}

export class Certificates {
  readonly #sections: Sections;
  /** By lower-case name. */
  readonly #byName: GroupIndex<Sni>;

  private constructor(sections: Sections, byName: GroupIndex<Sni>) {
    this.#sections = sections;
    this.#byName = byName;
  }

  static readonly empty = new Certificates(emptySnapshot, new GroupIndex(({ name }) => name.toLowerCase()));

  /** Returns the same object when neither SNIs nor certificates changed. */
  with({ certificates, snis }: Sections): Certificates {
    const before = this.#sections;
    if (before.certificates === certificates && before.snis === snis) return this;
    return new Certificates({ certificates, snis }, this.#byName.with(bucketDifferences(before.snis, snis)));
  }

  /** The certificate for a server name (null: client without SNI); undefined when none matches. */
  find(serverName: string | null): IssuedCertificate | undefined {
    return this.findNamed(serverName)?.certificate;
  }

  /** As `find`, with the name of the SNI that refers to the certificate. */
  findNamed(serverName: string | null): NamedCertificate | undefined {
    const names = serverName ? candidates(serverName) : [ANY];
    return names.map((name) => this.#named(name)).find((named) => named !== undefined);
  }

  #named(name: string): NamedCertificate | undefined {
    const [sni] = this.#byName.of(name);
    const certificate = this.#sections.certificates.get(sni?.certificate?.id ?? "");
    if (certificate?._sluice?.listeners !== undefined || !isIssued(certificate)) return undefined;
    return sni && { sni: sni.name, certificate };
  }
}
