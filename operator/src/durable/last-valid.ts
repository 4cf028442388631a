/**
 * The last valid version of each resource: what is served of one that was made invalid (house decision 11). It is what
 * the document was made of, and is kept over restarts (keeper.ts). Resources that are valid stand for themselves. Of a
 * Certificate the last Secret that was good for it belongs to it (translate/last-secret.ts).
 */
import type { Resource } from "@sluice/crds";

export interface LastValid {
  /** Of the very object with this uid; undefined: it was never valid, as far as is known. */
  of(key: string, uid: string | undefined): Resource | undefined;
  note(key: string, resource: Resource): void;
  /** With which the Certificate was good last, if it is the very object with this uid that was. */
  secretOf(key: string, uid: string | undefined): Resource | undefined;
  noteSecret(key: string, secret: Resource): void;
  /** The resource is another object by now. With the same spec it takes the place of the one before, which may go. */
  refresh(key: string, resource: Resource | undefined): void;
  forget(key: string): void;
  /** Lets go of resources that are not there any more. */
  keepOnly(keys: ReadonlyMap<string, unknown>): void;
  /** By `ownerKey`; Secrets by that of their Certificate and a word behind it. */
  all(): ReadonlyMap<string, Resource>;
  /** What was kept from before; what was noted since is newer. */
  restore(kept: ReadonlyMap<string, Resource>): void;
}

/** No name of a resource has a slash. */
const SECRET = "/secret";

export function createLastValid(): LastValid {
  const valid = new Map<string, Resource>();
  /** By their Certificates. */
  const secrets = new Map<string, Resource>();

  function of(key: string, uid: string | undefined): Resource | undefined {
    const found = valid.get(key);
    return found && found.metadata.uid === uid ? found : undefined;
  }

  function forget(key: string): void {
    valid.delete(key);
    secrets.delete(key);
  }

  return {
    of,
    secretOf: (key, uid) => (of(key, uid) ? secrets.get(key) : undefined),
    noteSecret: (key, secret) => void secrets.set(key, secret),
    note: (key, resource) => void valid.set(key, resource),
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
    restore(kept) {
      for (const [name, resource] of kept) {
        const isSecret = name.endsWith(SECRET);
        const key = isSecret ? name.slice(0, -SECRET.length) : name;
        const known = isSecret ? secrets : valid;
        if (!known.has(key)) known.set(key, resource);
      }
    },
  };
}
