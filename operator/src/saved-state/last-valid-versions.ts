/**
 * The last valid version of each resource, which is served after the resource was made invalid. It is what
 * the document was made of, and is kept over restarts (keeper.ts). Resources that are valid stand for themselves. Of a
 * Certificate the last Secret that was good for it belongs to it (translate/last-secret.ts).
 */
import type { Resource } from "@sluice/crds";

export interface LastValidVersions {
  /** Of the very object with this uid; undefined: it was never valid, as far as is known. */
  get(key: string, uid: string | undefined): Resource | undefined;
  record(key: string, resource: Resource): void;
  /** With which the Certificate was good last, if it is the very object with this uid that was. */
  secretOf(key: string, uid: string | undefined): Resource | undefined;
  recordSecret(key: string, secret: Resource): void;
  /** The resource is another object by now. With the same spec it takes the place of the one before, which may go. */
  refresh(key: string, resource: Resource | undefined): void;
  forget(key: string): void;
  /** Lets go of resources that are not there any more. */
  keepOnly(keys: ReadonlyMap<string, unknown>): void;
  /** By `ownerKey`; Secrets by that of their Certificate and a word behind it. */
  all(): ReadonlyMap<string, Resource>;
  /**
   * Grows when there is something to be kept that the document need not show: another object of the same name and spec,
   * one that is not served, or one that has gone. Not with generations: a spec that means something else is another
   * document.
   */
  version(): number;
  /**
   * What was kept, by this operator or by another that led: it fills gaps, and the newer one wins.
   *
   * @param now The resource as it stands; undefined (the default): that is not known.
   * @returns The keys of the resources of which something else is known now.
   */
  restore(kept: ReadonlyMap<string, Resource>, now?: (key: string) => Resource | undefined): ReadonlySet<string>;
}

/** No name of a resource has a slash. */
const SECRET = "/secret";

export function createLastValidVersions(): LastValidVersions {
  const valid = new Map<string, Resource>();
  /** By their Certificates. */
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

/** Two objects of one name have no order of their own; only the one that is there is of use. */
function isNewerVersion({ metadata }: Resource, before: Resource, now: Resource | undefined): boolean {
  if (metadata.uid !== before.metadata.uid) return metadata.uid !== undefined && metadata.uid === now?.metadata.uid;
  return (metadata.generation ?? 0) > (before.metadata.generation ?? 0);
}

/** Secrets have no generation; a cluster's versions are numbers that grow. */
function isLaterSecret({ metadata }: Resource, before: Resource): boolean {
  const [one, other] = [metadata.resourceVersion ?? "", before.metadata.resourceVersion ?? ""];
  return [one, other].every((version) => /^\d+$/.test(version)) && BigInt(one) > BigInt(other);
}
