/**
 * The last valid version of each resource. A resource that becomes invalid is served in this version. The versions are
 * saved, so that they survive restarts (state-store.ts). For a Certificate, the last Secret that was valid for it is
 * kept too (translate/fallback/last-valid.ts).
 */
import type { Resource } from "@sluice/crds";

/** The key of a Certificate's Secret is the Certificate's key with this suffix. */
const SECRET = "/secret";

const ownerKeyOf = (key: string, { kind }: Resource): string =>
  kind === "Secret" ? key.slice(0, -SECRET.length) : key;

export function createLastValidVersions() {
  /** Resources by `refKey`; the Secret of a Certificate by the Certificate's `refKey` with the suffix `/secret`. */
  const versions = new Map<string, Resource>();
  let version = 0;

  function get(key: string, uid: string | undefined): Resource | undefined {
    const found = versions.get(key);
    return found && found.metadata.uid === uid ? found : undefined;
  }

  function record(key: string, resource: Resource): void {
    const before = versions.get(key);
    if (!before || before.metadata.uid !== resource.metadata.uid) version++;
    versions.set(key, resource);
  }

  function forget(key: string): void {
    if (versions.delete(key)) version++;
    versions.delete(`${key}${SECRET}`);
  }

  return {
    /** The last valid version of the object with this uid; undefined: none is known. */
    get,
    record,
    /** The last Secret with which the Certificate with this uid was valid; undefined: none is known. */
    secretOf: (key: string, uid: string | undefined) => (get(key, uid) ? versions.get(`${key}${SECRET}`) : undefined),
    recordSecret: (key: string, secret: Resource) => record(`${key}${SECRET}`, secret),
    /**
     * If `resource` is the recorded object in the same generation, records this copy instead, so that the earlier copy
     * can be freed. Otherwise does nothing.
     */
    refresh(key: string, resource: Resource | undefined) {
      const { uid, generation } = versions.get(key)?.metadata ?? {};
      if (!resource || generation === undefined) return;
      if (resource.metadata.uid === uid && resource.metadata.generation === generation) versions.set(key, resource);
    },
    forget,
    keepOnly(keys: ReadonlyMap<string, unknown>) {
      for (const [key, resource] of versions) {
        const owner = ownerKeyOf(key, resource);
        if (!keys.has(owner)) forget(owner);
      }
    },
    all: (): ReadonlyMap<string, Resource> => new Map(versions),
    /**
     * A counter of the changes that have to be saved although the document may not change: another object with the
     * same name and spec, a resource that is not served, a deletion. A new generation does not count, because a changed
     * spec changes the document.
     */
    version: () => version,
    /**
     * Merges the saved versions of this operator or of an earlier leader. A resource without a known version gets the
     * saved version; where both exist, the newer version is kept.
     *
     * @param now Returns the current object of a key; undefined: there is none, or it is unknown (the default).
     * @returns The keys of the resources for which a saved version or a saved Secret was recorded.
     */
    restore(kept: ReadonlyMap<string, Resource>, now: (key: string) => Resource | undefined = () => undefined) {
      const restored = new Set<string>();
      for (const [key, resource] of kept) {
        const before = versions.get(key);
        const wins = resource.kind === "Secret" ? isLaterSecret : isNewerVersion;
        if (before && !wins(resource, before, now(key))) continue;
        versions.set(key, resource);
        restored.add(ownerKeyOf(key, resource));
      }
      return restored;
    },
  };
}

export type LastValidVersions = ReturnType<typeof createLastValidVersions>;

/**
 * Whether a saved version replaces the known version `before`. Generations of objects with different uids are not
 * comparable: then the saved version replaces the known version only if it is a version of the current object.
 */
function isNewerVersion({ metadata }: Resource, before: Resource, now: Resource | undefined): boolean {
  if (metadata.uid !== before.metadata.uid) return metadata.uid !== undefined && metadata.uid === now?.metadata.uid;
  return (metadata.generation ?? 0) > (before.metadata.generation ?? 0);
}

/**
 * Whether a saved Secret is later than the known Secret `before`. Secrets have no generation; a cluster's resource
 * versions are increasing numbers.
 */
function isLaterSecret({ metadata }: Resource, before: Resource): boolean {
  const [one, other] = [metadata.resourceVersion ?? "", before.metadata.resourceVersion ?? ""];
  return [one, other].every((version) => /^\d+$/.test(version)) && BigInt(one) > BigInt(other);
}
