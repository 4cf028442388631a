/** The Certificates for `spec.tls` of Ingresses: one for each Secret, with the hosts of all Ingresses that name it. */
import {
  compareByAge,
  DERIVED_TLS,
  deriveCertificate,
  namespacedName,
  type Ref,
  Relation,
  type Resource,
  tlsSecretsOf,
} from "@sluice/crds";

export function createDerivedCertificates(className: string) {
  /** By `namespace/name`. */
  const ingresses = new Map<string, Resource>();
  /** Ingresses, and the Secrets that they name. */
  const secrets = new Relation<string, string>();
  const changed = new Set<string>();

  /** The Ingresses that name the Secret, the oldest first. */
  const usersOf = (secret: string): readonly Resource[] =>
    [...secrets.leftsOf(secret)].flatMap((key) => ingresses.get(key) ?? []).sort(compareByAge);

  return {
    /** Called when an Ingress has changed; undefined: it is gone, or of another class. */
    update(key: string, ingress: Resource | undefined): void {
      const after = new Set(
        ingress && [...tlsSecretsOf(ingress)].map((name) => namespacedName(ingress.metadata.namespace, name)),
      );
      for (const secret of secrets.set(key, after).union(after)) changed.add(secret);
      if (ingress && after.size > 0) ingresses.set(key, ingress);
      else ingresses.delete(key);
    },
    /** The Certificates that may have changed since the last call, by `namespace/name`; undefined: it is gone. */
    takeChanges(): ReadonlyMap<string, Resource | undefined> {
      const certificates = new Map<string, Resource | undefined>();
      for (const secret of changed) {
        const [namespace = "", name = ""] = secret.split("/");
        const [oldest, ...others] = usersOf(secret);
        const certificate = oldest && deriveCertificate(name, [oldest, ...others], className);
        certificates.set(namespacedName(namespace, `${DERIVED_TLS}~${name}`), certificate);
      }
      changed.clear();
      return certificates;
    },
    /** The Ingresses that name the Secret of a derived Certificate; empty for other resources. */
    sourcesOf({ namespace, name }: Ref): readonly Ref[] {
      if (!name.startsWith(`${DERIVED_TLS}~`)) return [];
      const secret = namespacedName(namespace, name.slice(DERIVED_TLS.length + 1));
      return usersOf(secret).map(({ metadata }) => ({ kind: "Ingress", namespace, name: metadata.name }));
    },
  };
}

export type DerivedCertificates = ReturnType<typeof createDerivedCertificates>;
