/**
 * The last valid version of each resource. A resource that becomes invalid is served in this version. The versions are
 * saved, so that they survive restarts (state-store.ts). A Certificate's entry includes the last Secret that was valid
 * for it (translate/fallback/last-secret.ts).
 */
import type { Resource } from "@sluice/crds";

/** Resource names contain no slash. */
const SECRET = "/secret";

export function createLastValidVersions() {
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
    /** The last valid version of the object with this uid; undefined: none is known. */
    get: of,
    /** The last Secret with which this Certificate was valid; undefined unless the object has this uid. */
    secretOf: (key: string, uid: string | undefined) => (of(key, uid) ? secrets.get(key) : undefined),
    recordSecret: (key: string, secret: Resource) => put(secrets, key, secret),
    record: (key: string, resource: Resource) => put(valid, key, resource),
    /** Replaces the recorded object by a newer one with the same spec, so that the old object can be collected. */
    refresh(key: string, resource: Resource | undefined) {
      const { uid, generation } = valid.get(key)?.metadata ?? {};
      if (!resource || generation === undefined) return;
      if (resource.metadata.uid === uid && resource.metadata.generation === generation) valid.set(key, resource);
    },
    forget,
    /** Removes the entries of all other resources. */
    keepOnly(keys: ReadonlyMap<string, unknown>) {
      for (const key of valid.keys()) if (!keys.has(key)) forget(key);
    },
    /** By `ownerKey`. The key of a Secret is the key of its Certificate with a suffix. */
    all: () => new Map([...valid, ...[...secrets].map(([key, secret]) => [`${key}${SECRET}`, secret] as const)]),
    /**
     * Grows on a change that has to be saved although the document may not change: another object with the same name and
     * spec, a resource that is not served, a deletion. A new generation does not count, because a changed spec changes
     * the document.
     */
    version: () => version,
    /**
     * Merges the saved versions of this operator or of an earlier leader. They fill gaps; where both exist, the newer
     * version wins.
     *
     * @param now The current resource; undefined (the default): unknown.
     * @returns The keys whose entries have changed.
     */
    restore(kept: ReadonlyMap<string, Resource>, now: (key: string) => Resource | undefined = () => undefined) {
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

export type LastValidVersions = ReturnType<typeof createLastValidVersions>;

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
