/** Certificates for the Secrets that Ingresses and core Services name. The Secrets are not read. */

import type { ManifestObject } from "@sluice/crds";
import { apiVersion } from "@sluice/model";
import type { Conversion } from "../conversion.ts";
import { listOf, namespaceOf, nonEmptyText, recordOf } from "../objects.ts";

interface UsedSecret {
  readonly namespace: string;
  readonly secret: string;
  readonly object: ManifestObject;
  readonly hosts: string[];
}

export class CertificateConverter {
  readonly #conversion: Conversion;
  readonly #secrets = new Map<string, UsedSecret>();
  /** As in Kong's controller, the first Ingress that names a host decides about its certificate. */
  readonly #hosts = new Set<string>();

  constructor(conversion: Conversion) {
    this.#conversion = conversion;
  }

  /** Returns the name of the Certificate for a Secret. */
  certificateNameFor(namespace: string, secret: string, object: ManifestObject): string {
    this.#secretOf(namespace, secret, object);
    return secret;
  }

  /** The certificates of an Ingress that becomes Routes. */
  addIngress(ingress: ManifestObject): void {
    for (const entry of listOf(recordOf(ingress.spec).tls)) {
      const { secretName, hosts } = recordOf(entry);
      const secret = nonEmptyText(secretName);
      if (secret === undefined) continue;
      const { hosts: names } = this.#secretOf(namespaceOf(ingress), secret, ingress);
      for (const host of listOf(hosts).map(String)) {
        if (!this.#hosts.has(host)) names.push(host);
        this.#hosts.add(host);
      }
    }
  }

  addCertificates(className: string | undefined): void {
    for (const { namespace, secret, object, hosts } of this.#secrets.values()) {
      const spec = {
        ...(className !== undefined && { class: className }),
        secretRef: { name: secret },
        ...(hosts.length > 0 && { snis: hosts.map((name) => ({ name })) }),
      };
      const metadata = { name: secret, namespace };
      this.#conversion.addResource({ apiVersion, kind: "Certificate", metadata, spec }, object);
    }
  }

  #secretOf(namespace: string, secret: string, object: ManifestObject): UsedSecret {
    const key = `${namespace}/${secret}`;
    return this.#secrets.getOrInsertComputed(key, () => ({ namespace, secret, object, hosts: [] }));
  }
}
