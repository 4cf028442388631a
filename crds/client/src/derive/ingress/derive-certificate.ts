/** The certificate of `spec.tls`. Several Ingresses often name one Secret, so that it becomes one Certificate. */
import type { Resource } from "../../resource.ts";
import { DERIVED_TLS, type DerivedResource, derivedResource } from "../derived-resource.ts";
import { type IngressSpec, ingressSpecOf } from "./ingress-spec.ts";

type TlsEntry = NonNullable<IngressSpec["tls"]>[number];

/** The hosts of an entry of `spec.tls`. An entry without hosts stands for the hosts of all rules. */
const hostsOf = ({ rules = [] }: IngressSpec, { hosts = [] }: TlsEntry): readonly string[] =>
  hosts.length > 0 ? hosts : rules.flatMap(({ host }) => host ?? []);

/** The hosts for which an Ingress has TLS. */
export function tlsHostsOf(ingress: Resource): ReadonlySet<string | undefined> {
  const spec = ingressSpecOf(ingress);
  return new Set(spec.tls?.flatMap((entry) => hostsOf(spec, entry)));
}

/** The names of the Secrets in `spec.tls`. */
export const tlsSecretsOf = (ingress: Resource): ReadonlySet<string> =>
  new Set(ingressSpecOf(ingress).tls?.flatMap(({ secretName }) => secretName ?? []));

/**
 * The Certificate for all hosts that the Ingresses of a namespace list with the Secret.
 *
 * @param ingresses The Ingresses that name the Secret, the oldest first; not empty.
 */
export function deriveCertificate(
  secretName: string,
  ingresses: readonly [Resource, ...Resource[]],
  className: string,
): DerivedResource {
  const hosts = ingresses.flatMap((ingress) => {
    const spec = ingressSpecOf(ingress);
    return (spec.tls ?? []).flatMap((entry) => (entry.secretName === secretName ? hostsOf(spec, entry) : []));
  });
  const [oldest] = ingresses;
  return derivedResource(oldest, {
    kind: "Certificate",
    name: `${DERIVED_TLS}~${secretName}`,
    spec: { secretRef: { name: secretName }, snis: [...new Set(hosts)].map((name) => ({ name })), class: className },
    derived: { sourcePaths: { spec: "spec.tls" } },
  });
}
