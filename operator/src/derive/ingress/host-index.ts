/** The hosts of all Ingresses, as far as the meaning of one Ingress depends on the others. */
import {
  compareByAge,
  ingressAliasesOf,
  ingressHostsOf,
  isCanary,
  Relation,
  type Resource,
  requiresCertificates,
  tlsHostsOf,
  usesRegexPaths,
  wwwCounterpart,
} from "@sluice/crds";

/** The host of a rule; undefined: any host. */
type Host = string | undefined;

/** `*.example.com` for `www.example.com`. */
const wildcardFor = (host: string): string => host.replace(/^[^.]+/, "*");

const noHosts: ReadonlySet<Host> = new Set();

export function createHostIndex() {
  const ingresses = new Map<string, Resource>();
  /** Ingresses (`namespace/name`), and the hosts of their rules; the next three are parts of it. */
  const users = new Relation<string, Host>();
  /** Those that use regular expressions, and are not canaries. */
  const withRegex = new Relation<string, Host>();
  const canaries = new Relation<string, Host>();
  /** Those that require certificates of clients, and are not canaries. */
  const withCertificates = new Relation<string, Host>();
  const withTls = new Relation<string, Host>();
  /** Ingresses, and the hosts that they have as aliases. */
  const aliases = new Relation<string, Host>();

  /** Whether an Ingress that is not a canary has a rule for the host. */
  const exists = (host: Host): boolean => users.leftsOf(host).size > canaries.leftsOf(host).size;

  const hasRegexPaths = (host: Host): boolean => withRegex.leftsOf(host).size > 0;

  /** These Ingresses, the oldest first. */
  const byAgeOf = (keys: ReadonlySet<string>): readonly Resource[] =>
    [...keys].flatMap((key) => ingresses.get(key) ?? []).sort(compareByAge);

  function updateRules(key: string, ingress: Resource | undefined, hosts: ReadonlySet<Host>): void {
    const isPrimary = ingress !== undefined && !isCanary(ingress);
    users.set(key, hosts);
    withRegex.set(key, isPrimary && usesRegexPaths(ingress) ? hosts : noHosts);
    canaries.set(key, isPrimary ? noHosts : hosts);
    withCertificates.set(key, isPrimary && requiresCertificates(ingress) ? hosts : noHosts);
    aliases.set(key, new Set(ingress ? ingressAliasesOf(ingress) : []));
    if (ingress) ingresses.set(key, ingress);
    else ingresses.delete(key);
  }

  /** Returns the Ingresses of the hosts that have TLS now and had none before, or the other way round. */
  function updateTls(key: string, ingress: Resource | undefined): readonly string[] {
    const after = ingress ? tlsHostsOf(ingress) : noHosts;
    const isServed = (host: Host): boolean => withTls.leftsOf(host).size > 0;
    const had = new Map([...withTls.rightsOf(key).union(after)].map((host) => [host, isServed(host)]));
    withTls.set(key, after);
    const changed = [...had].flatMap(([host, was]) => (was === isServed(host) ? [] : [host]));
    return changed.flatMap((host) =>
      coveredBy(host).flatMap((one) => [...users.leftsOf(one), ...aliases.leftsOf(one)]),
    );
  }

  /** The hosts and aliases for which a certificate of the host is valid. */
  function coveredBy(host: Host): readonly Host[] {
    if (!host?.startsWith("*.")) return [host];
    return [...users.rights(), ...aliases.rights()].filter((one) => one !== undefined && wildcardFor(one) === host);
  }

  return {
    /**
     * Called when an Ingress has changed; undefined: it is gone. Returns the Ingresses that have to be derived again.
     */
    update(key: string, ingress: Resource | undefined): ReadonlySet<string> {
      const after = ingress ? ingressHostsOf(ingress) : noHosts;
      const concerned = [...users.rightsOf(key).union(after)].map((host) => ({
        host,
        existed: exists(host),
        hadRegexPaths: hasRegexPaths(host),
        wasCanary: canaries.leftsOf(host).has(key),
        requiredCertificates: withCertificates.leftsOf(host).has(key),
      }));
      updateRules(key, ingress, after);
      const affected = new Set<string>(updateTls(key, ingress));
      for (const { host, existed, hadRegexPaths, wasCanary, requiredCertificates } of concerned) {
        const isShared =
          wasCanary ||
          canaries.leftsOf(host).has(key) ||
          hadRegexPaths !== hasRegexPaths(host) ||
          requiredCertificates ||
          withCertificates.leftsOf(host).has(key);
        for (const canary of canaries.leftsOf(host)) affected.add(canary);
        if (isShared) for (const user of users.leftsOf(host)) affected.add(user);
        if (existed === exists(host) || host === undefined) continue;
        for (const user of users.leftsOf(wwwCounterpart(host))) affected.add(user);
        for (const user of aliases.leftsOf(host)) affected.add(user);
      }
      return affected;
    },
    hasRegexPaths,
    hasTls: (host: Host): boolean =>
      host !== undefined && (withTls.leftsOf(host).size > 0 || withTls.leftsOf(wildcardFor(host)).size > 0),
    /** The canaries with a rule for the host in the namespace, the oldest first. */
    canariesOf: (host: Host, namespace: string): readonly Resource[] =>
      byAgeOf(canaries.leftsOf(host)).filter(({ metadata }) => metadata.namespace === namespace),
    /** The oldest Ingress that requires certificates of clients for the host. */
    requiringCertificates: (host: Host): Resource | undefined => byAgeOf(withCertificates.leftsOf(host))[0],
    /** The Ingresses (`namespace/name`) with a rule for the host that are not canaries. */
    primariesOf: (host: Host): ReadonlySet<string> => users.leftsOf(host).difference(canaries.leftsOf(host)),
  };
}
