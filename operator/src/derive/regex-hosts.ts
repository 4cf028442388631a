/**
 * The hosts on which an Ingress uses regular expressions: they change the meaning of the paths that other Ingresses have
 * for the host.
 */
import { ingressHostsOf, type Resource, usesRegexPaths } from "@sluice/crds";

/** The host of a rule; undefined: any host. */
type Host = string | undefined;

export function createRegexHosts() {
  const hostsByIngress = new Map<string, ReadonlySet<Host>>();
  /** The Ingresses (`namespace/name`) with rules for a host, and those of them with regular expressions. */
  const ingressesByHost = new Map<Host, Set<string>>();
  const withRegex = new Map<Host, Set<string>>();

  const has = (host: Host): boolean => (withRegex.get(host)?.size ?? 0) > 0;

  return {
    /**
     * Called when an Ingress has changed; undefined: it is gone. Returns the Ingresses whose paths have another meaning
     * now.
     */
    update(key: string, ingress: Resource | undefined): ReadonlySet<string> {
      const before = hostsByIngress.get(key) ?? new Set<Host>();
      const after = ingress ? ingressHostsOf(ingress) : new Set<Host>();
      const had = new Map([...before.union(after)].map((host) => [host, has(host)]));
      for (const host of before) {
        ingressesByHost.get(host)?.delete(key);
        withRegex.get(host)?.delete(key);
      }
      for (const host of after) {
        addTo(ingressesByHost, host, key);
        if (ingress && usesRegexPaths(ingress)) addTo(withRegex, host, key);
      }
      if (after.size > 0) hostsByIngress.set(key, after);
      else hostsByIngress.delete(key);
      const changed = [...had].flatMap(([host, was]) =>
        was === has(host) ? [] : [...(ingressesByHost.get(host) ?? [])],
      );
      return new Set(changed);
    },
    has,
  };
}

function addTo(index: Map<Host, Set<string>>, host: Host, key: string): void {
  const keys = index.get(host) ?? new Set();
  index.set(host, keys.add(key));
}
