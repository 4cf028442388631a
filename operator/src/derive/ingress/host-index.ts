/** The hosts of all Ingresses, as far as the meaning of one Ingress depends on the others. */
import {
  byAge,
  ingressAliasesOf,
  ingressHostsOf,
  isCanary,
  type Resource,
  requiresCertificates,
  tlsHostsOf,
  usesRegexPaths,
  wwwCounterpart,
} from "@sluice/crds";

/** The host of a rule; undefined: any host. */
type Host = string | undefined;

/** The Ingresses with a rule for a host, by `namespace/name`. */
interface HostUsers {
  readonly all: Set<string>;
  /** Those that use regular expressions. */
  readonly withRegex: Set<string>;
  readonly canaries: Map<string, Resource>;
  /** Those that require certificates of clients. */
  readonly withCertificates: Map<string, Resource>;
}

/** `*.example.com` for `www.example.com`. */
const wildcardFor = (host: string): string => host.replace(/^[^.]+/, "*");

export function createHostIndex() {
  const hostsOf = new Map<string, ReadonlySet<Host>>();
  const tlsHostsByIngress = new Map<string, ReadonlySet<Host>>();
  /** The Ingresses (`namespace/name`) with TLS for a host. */
  const withTls = new Map<Host, Set<string>>();
  const users = new Map<Host, HostUsers>();
  const aliasesOf = new Map<string, readonly string[]>();
  /** The Ingresses that have the host as an alias. */
  const aliasUsers = new Map<Host, Set<string>>();

  /** Whether an Ingress that is not a canary has a rule for the host. */
  function exists(host: Host): boolean {
    const known = users.get(host);
    return known !== undefined && known.all.size > known.canaries.size;
  }
  const hasRegexPaths = (host: Host): boolean => (users.get(host)?.withRegex.size ?? 0) > 0;

  function remove(key: string, host: Host): void {
    const known = users.get(host);
    known?.all.delete(key);
    known?.withRegex.delete(key);
    known?.canaries.delete(key);
    known?.withCertificates.delete(key);
    if (known?.all.size === 0) users.delete(host);
  }

  function add(key: string, host: Host, ingress: Resource): void {
    const known = users.get(host) ?? {
      all: new Set(),
      withRegex: new Set(),
      canaries: new Map(),
      withCertificates: new Map(),
    };
    users.set(host, known);
    known.all.add(key);
    if (!isCanary(ingress) && usesRegexPaths(ingress)) known.withRegex.add(key);
    if (isCanary(ingress)) known.canaries.set(key, ingress);
    else if (requiresCertificates(ingress)) known.withCertificates.set(key, ingress);
  }

  function updateAliases(key: string, ingress: Resource | undefined): void {
    for (const alias of aliasesOf.get(key) ?? []) {
      aliasUsers.get(alias)?.delete(key);
      if (aliasUsers.get(alias)?.size === 0) aliasUsers.delete(alias);
    }
    const after = ingress ? ingressAliasesOf(ingress) : [];
    for (const alias of after) aliasUsers.set(alias, (aliasUsers.get(alias) ?? new Set()).add(key));
    if (after.length > 0) aliasesOf.set(key, after);
    else aliasesOf.delete(key);
  }

  /** Returns the Ingresses of the hosts that have TLS now and had none before, or the other way round. */
  function updateTls(key: string, ingress: Resource | undefined): readonly string[] {
    const before = tlsHostsByIngress.get(key) ?? new Set<Host>();
    const after = ingress ? tlsHostsOf(ingress) : new Set<Host>();
    const had = new Map([...before.union(after)].map((host) => [host, withTls.has(host)]));
    for (const host of before) {
      withTls.get(host)?.delete(key);
      if (withTls.get(host)?.size === 0) withTls.delete(host);
    }
    for (const host of after) withTls.set(host, (withTls.get(host) ?? new Set()).add(key));
    if (after.size > 0) tlsHostsByIngress.set(key, after);
    else tlsHostsByIngress.delete(key);
    const changed = [...had].flatMap(([host, was]) => (was === withTls.has(host) ? [] : [host]));
    return changed.flatMap((host) =>
      coveredBy(host).flatMap((one) => [...(users.get(one)?.all ?? []), ...(aliasUsers.get(one) ?? [])]),
    );
  }

  /** The hosts and aliases for which a certificate of the host is valid. */
  function coveredBy(host: Host): readonly Host[] {
    if (!host?.startsWith("*.")) return [host];
    return [...users.keys(), ...aliasUsers.keys()].filter((one) => one !== undefined && wildcardFor(one) === host);
  }

  return {
    /**
     * Called when an Ingress has changed; undefined: it is gone. Returns the Ingresses that have to be derived again.
     */
    update(key: string, ingress: Resource | undefined): ReadonlySet<string> {
      const before = hostsOf.get(key) ?? new Set<Host>();
      const after = ingress ? ingressHostsOf(ingress) : new Set<Host>();
      const concerned = [...before.union(after)].map((host) => ({
        host,
        existed: exists(host),
        hadRegexPaths: hasRegexPaths(host),
        wasCanary: users.get(host)?.canaries.has(key) ?? false,
        requiredCertificates: users.get(host)?.withCertificates.has(key) ?? false,
      }));
      updateAliases(key, ingress);
      for (const host of before) remove(key, host);
      for (const host of after) if (ingress) add(key, host, ingress);
      if (after.size > 0) hostsOf.set(key, after);
      else hostsOf.delete(key);
      const affected = new Set<string>(updateTls(key, ingress));
      for (const { host, existed, hadRegexPaths, wasCanary, requiredCertificates } of concerned) {
        const canaries = users.get(host)?.canaries;
        const requireCertificates = requiredCertificates || users.get(host)?.withCertificates.has(key);
        const isShared =
          wasCanary || canaries?.has(key) || hadRegexPaths !== hasRegexPaths(host) || requireCertificates;
        for (const canary of canaries?.keys() ?? []) affected.add(canary);
        if (isShared) for (const user of users.get(host)?.all ?? []) affected.add(user);
        if (existed === exists(host) || host === undefined) continue;
        for (const user of users.get(wwwCounterpart(host))?.all ?? []) affected.add(user);
        for (const user of aliasUsers.get(host) ?? []) affected.add(user);
      }
      return affected;
    },
    hasRegexPaths,
    hasTls: (host: Host): boolean => host !== undefined && (withTls.has(host) || withTls.has(wildcardFor(host))),
    /** The canaries with a rule for the host in the namespace, the oldest first. */
    canariesOf: (host: Host, namespace: string): readonly Resource[] =>
      [...(users.get(host)?.canaries.values() ?? [])]
        .filter(({ metadata }) => metadata.namespace === namespace)
        .sort(byAge),
    /** The oldest Ingress that requires certificates of clients for the host. */
    requiringCertificates: (host: Host): Resource | undefined =>
      [...(users.get(host)?.withCertificates.values() ?? [])].sort(byAge)[0],
    /** The Ingresses (`namespace/name`) with a rule for the host that are no canaries. */
    primariesOf: (host: Host): ReadonlySet<string> =>
      users.get(host)?.all.difference(new Set(users.get(host)?.canaries.keys())) ?? new Set(),
  };
}
