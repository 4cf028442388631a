/**
 * The last valid version of each resource. A resource that becomes invalid is served in this version. The versions are
 * saved, so that they survive restarts (state-store.ts). A Certificate's entry includes the last Secret that was valid
 * for it (translate/fallback/last-secret.ts).
 */
import type { Resource } from "@sluice/crds";

export interface LastValidVersions {
  /** The last valid version of the object with this uid; undefined: none is known. */
  get(key: string, uid: string | undefined): Resource | undefined;
  record(key: string, resource: Resource): void;
  /** The last Secret with which this Certificate was valid; undefined unless the object has this uid. */
  secretOf(key: string, uid: string | undefined): Resource | undefined;
  recordSecret(key: string, secret: Resource): void;
  /** Replaces the recorded object by a newer one with the same spec, so that the old object can be collected. */
  refresh(key: string, resource: Resource | undefined): void;
  forget(key: string): void;
  /** Removes the entries of all other resources. */
  keepOnly(keys: ReadonlyMap<string, unknown>): void;
  /** By `ownerKey`. The key of a Secret is the key of its Certificate with a suffix. */
  all(): ReadonlyMap<string, Resource>;
  /**
   * Grows on a change that has to be saved although the document may not change: another object with the same name and
   * spec, a resource that is not served, a deletion. A new generation does not count, because a changed spec changes
   * the document.
   */
  version(): number;
  /**
   * Merges the saved versions of this operator or of an earlier leader. They fill gaps; where both exist, the newer
   * version wins.
   *
   * @param now The current resource; undefined (the default): unknown.
   * @returns The keys whose entries have changed.
   */
  restore(kept: ReadonlyMap<string, Resource>, now?: (key: string) => Resource | undefined): ReadonlySet<string>;
}

/** Resource names contain no slash. */
const SECRET = "/secret";

export function createLastValidVersions(): LastValidVersions {
  const valid = new Map<string, Resource>();
  /** By the keys of their Certificates. */
  const secrets = new Map<string, Resource>();
  let version = 0;

  function of(key: string, uid: string | undefined): Resource | undefined {
    const found = valid.get(key);
    return found && found.metadata.uid === uid ? found : undefined;
  }

  function put(into: Map<string, Resource>, key: string, resource: Resource): void {
    const before = into.get(key);
    if (!before || before.metadata.uid !== resource.metadata.uid) version++;
    into.set(key, resource);
  }

  function forget(key: string): void {
    if (valid.delete(key)) version++;
    secrets.delete(key);
  }

  return {
    get: of,
    secretOf: (key, uid) => (of(key, uid) ? secrets.get(key) : undefined),
    recordSecret: (key, secret) => put(secrets, key, secret),
    record: (key, resource) => put(valid, key, resource),
    refresh(key, resource) {
      const { uid, generation } = valid.get(key)?.metadata ?? {};
      if (!resource || generation === undefined) return;
      if (resource.metadata.uid === uid && resource.metadata.generation === generation) valid.set(key, resource);
    },
    forget,
    keepOnly(keys) {
      for (const key of valid.keys()) if (!keys.has(key)) forget(key);
    },
    all: () => new Map([...valid, ...[...secrets].map(([key, secret]) => [`${key}${SECRET}`, secret] as const)]),
    version: () => version,
    restore(kept, now = () => undefined) {
      const restored = new Set<string>();
      for (const [name, resource] of kept) {
        const isSecret = name.endsWith(SECRET);
        const key = isSecret ? name.slice(0, -SECRET.length) : name;
        const known = isSecret ? secrets : valid;
        const before = known.get(key);
        if (before && !(isSecret ? isLaterSecret(resource, before) : isNewerVersion(resource, before, now(key))))
          continue;
        known.set(key, resource);
        restored.add(key);
      }
      return restored;
    },
  };
}

/** Two objects with one name have no order; only the one that exists is useful. */
function isNewerVersion({ metadata }: Resource, before: Resource, now: Resource | undefined): boolean {
  if (metadata.uid !== before.metadata.uid) return metadata.uid !== undefined && metadata.uid === now?.metadata.uid;
  return (metadata.generation ?? 0) > (before.metadata.generation ?? 0);
}

/** Secrets have no generation; a cluster's resource versions are increasing numbers. */
function isLaterSecret({ metadata }: Resource, before: Resource): boolean {
  const [one, other] = [metadata.resourceVersion ?? "", before.metadata.resourceVersion ?? ""];
  return [one, other].every((version) => /^\d+$/.test(version)) && BigInt(one) > BigInt(other);
}
