/** The hosts of all Ingresses, as far as the meaning of one Ingress depends on the others. */
import { ingressHostsOf, type Resource, usesRegexPaths, wwwCounterpart } from "@sluice/crds";

/** The host of a rule; undefined: any host. */
type Host = string | undefined;

interface HostUsers {
  /** The Ingresses (`namespace/name`) with a rule for the host. */
  readonly all: Set<string>;
  /** Those of them that use regular expressions. */
  readonly withRegex: Set<string>;
}

export function createHostIndex() {
  const hostsOf = new Map<string, ReadonlySet<Host>>();
  const users = new Map<Host, HostUsers>();

  const exists = (host: Host): boolean => users.has(host);
  const hasRegexPaths = (host: Host): boolean => (users.get(host)?.withRegex.size ?? 0) > 0;

  function remove(key: string, host: Host): void {
    const known = users.get(host);
    known?.all.delete(key);
    known?.withRegex.delete(key);
    if (known?.all.size === 0) users.delete(host);
  }

  function add(key: string, host: Host, usesRegex: boolean): void {
    const known = users.get(host) ?? { all: new Set(), withRegex: new Set() };
    users.set(host, known);
    known.all.add(key);
    if (usesRegex) known.withRegex.add(key);
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
      }));
      for (const host of before) remove(key, host);
      const usesRegex = ingress !== undefined && usesRegexPaths(ingress);
      for (const host of after) add(key, host, usesRegex);
      if (after.size > 0) hostsOf.set(key, after);
      else hostsOf.delete(key);
      const affected = new Set<string>();
      for (const { host, existed, hadRegexPaths } of concerned) {
        const others = [
          ...(hadRegexPaths === hasRegexPaths(host) ? [] : [host]),
          ...(existed === exists(host) || host === undefined ? [] : [wwwCounterpart(host)]),
        ];
        for (const other of others) for (const user of users.get(other)?.all ?? []) affected.add(user);
      }
      return affected;
    },
    exists,
    hasRegexPaths,
  };
}
