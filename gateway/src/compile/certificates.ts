/** Which certificate a client is shown: by the server name that it asks for (RFC 6066 section 3). */
import { createSecureContext, type SecureContext } from "node:tls";
import type { Certificate, Snapshot } from "@sluice/model";
import type { CertificateIndex } from "../runtime/runtime.ts";

/** Making one parses keys: it is made when the certificate is first asked for, and kept as long as the entity. */
const contexts = new WeakMap<Certificate, SecureContext>();

function contextOf(certificate: Certificate): SecureContext {
  const known = contexts.get(certificate);
  if (known) return known;
  const { cert, key, cert_alt, key_alt } = certificate;
  const pair = <Pem>(main: Pem, alternative: Pem | null) => (alternative === null ? [main] : [main, alternative]);
  const context = createSecureContext({ cert: pair(cert, cert_alt), key: pair(key, key_alt), minVersion: "TLSv1.2" });
  contexts.set(certificate, context);
  return context;
}

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

  context(serverName: string | null): SecureContext | undefined {
    for (const name of serverName ? candidates(serverName) : [ANY]) {
      const certificate = this.#byName.get(name);
      if (certificate) return contextOf(certificate);
    }
    return undefined;
  }
}
