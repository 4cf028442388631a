/**
 * Caches each resource's own translation. An entry is valid while the resource's generation is the same and everything
 * that it read (references, Secrets, core Services) is unchanged. A valid entry returns identical objects, by which
 * later stages detect that nothing changed.
 */
import {
  type CheckedTranslation,
  type Resource,
  type ResourceReference,
  type SluiceKind,
  type TranslationLookups,
  translate,
  translateTracked,
} from "@sluice/crds";
import type { LastValidVersions } from "../saved-state/last-valid-versions.ts";
import { grantsFromKey, grantsIntoKey } from "./grant-index.ts";
import { withLastSecret } from "./last-secret.ts";
import { withLastValid } from "./last-valid.ts";
import { type Item, type Owner, ownerKey } from "./translation.ts";

/** One entity of a resource, with what a full translation needs of it repeatedly. */
export interface TranslatedEntity extends Pick<CheckedTranslation, "collection" | "item" | "violations" | "backend"> {
  /** Undefined when there are violations, except for a certificate that continues with its last valid Secret. */
  readonly validItem: Item | undefined;
  /** `refersTo` with owner keys. */
  readonly references: readonly (ResourceReference & { readonly key: string })[];
}

export interface CachedTranslation {
  readonly owner: Owner;
  /** `ownerKey` of the owner. */
  readonly key: string;
  readonly entities: readonly TranslatedEntity[];
  /** The keys of everything that was read, existing or not. */
  readonly dependencies: ReadonlySet<string>;
}

interface Entry extends CachedTranslation {
  readonly uid: string | undefined;
  readonly version: number | string | undefined;
  /** Of a Certificate: its last valid Secret. */
  readonly secret: Resource | undefined;
  /** Whether everything that was read is unchanged. */
  readonly holds: (ask: TranslationLookups) => boolean;
}

export interface TranslationCache {
  translateOne(kind: SluiceKind, resource: Resource, ask: TranslationLookups): CachedTranslation;
  forget(key: string): void;
  /** Removes the entries of all other resources. */
  keepOnly(keys: ReadonlyMap<string, unknown>): void;
}

/** Shared by all entities without any. */
const none: readonly never[] = [];
const nothing: ReadonlySet<string> = new Set();

function translatedEntityOf(owner: Owner, checked: CheckedTranslation): TranslatedEntity {
  const { collection, item, violations, backend, entity, references } = checked;
  const filled = entity as unknown as Item["entity"] | undefined;
  return {
    collection,
    // Only one of the two is kept: the entity has the same content, and there are very many.
    item: filled ?? item,
    violations: violations.length === 0 ? none : violations,
    ...(backend && { backend }),
    validItem: filled && { owner, entity: filled },
    references: references?.map((reference) => ({ ...reference, key: ownerKey(reference) })) ?? none,
  };
}

interface LastValidKey {
  readonly lastValid: LastValidVersions;
  readonly key: string;
  readonly uid: string | undefined;
}

/** The substitute of an invalid resource may change when saved state is restored. */
function validUntilRestored(holds: Entry["holds"], { lastValid, key, uid }: LastValidKey): Entry["holds"] {
  const [version, secret] = [lastValid.get(key, uid), lastValid.secretOf(key, uid)];
  return (ask) => holds(ask) && lastValid.get(key, uid) === version && lastValid.secretOf(key, uid) === secret;
}

/** @param lastValid The last valid versions, which replace invalid ones. Absent: nothing does. */
export function createTranslationCache(homeNamespace: string, lastValid?: LastValidVersions): TranslationCache {
  const translating = { homeNamespace, audience: "nodes" } as const;
  const remembered = new Map<string, Entry>();
  /** A faster lookup for a resource that is the identical object. */
  const entries = new WeakMap<Resource, Entry>();

  return {
    translateOne(kind, resource, ask) {
      const same = entries.get(resource);
      if (same?.holds(ask)) return same;
      const { namespace, name, uid, generation, resourceVersion } = resource.metadata;
      const version = generation ?? resourceVersion;
      const key = ownerKey({ kind, namespace, name });
      const before = remembered.get(key);
      if (before && before !== same && before.uid === uid && before.version === version && before.holds(ask)) {
        entries.set(resource, before);
        return before;
      }
      const owner: Owner = before?.owner ?? { kind, namespace, name };
      const asked = new Set<string>();
      let secret: Resource | undefined;
      const recordingAsk: TranslationLookups = {
        resolve(of, within, called) {
          asked.add(ownerKey({ kind: of, namespace: within, name: called }));
          return ask.resolve(of, within, called);
        },
        read(of, within, called) {
          asked.add(ownerKey({ kind: of, namespace: within, name: called }));
          const answer = ask.read(of, within, called);
          if (of === "Secret") secret = answer;
          return answer;
        },
        isReferenceAllowed(crossing) {
          asked.add(grantsIntoKey(crossing.to.namespace));
          return ask.isReferenceAllowed(crossing);
        },
        namespacesOpenTo(within) {
          asked.add(grantsFromKey(within));
          return ask.namespacesOpenTo(within);
        },
      };
      const noted = translateTracked(resource, translating, recordingAsk);
      const { translated, last } =
        kind === "Certificate"
          ? withLastSecret({
              translated: noted.translated,
              secret,
              last: lastValid?.secretOf(key, uid) ?? (before?.uid === uid ? before?.secret : undefined),
              translateAgain: (others) => translate(resource, { ...translating, ...others }),
              ask,
            })
          : { translated: noted.translated, last: undefined };
      const { translated: served, isCurrent } = lastValid
        ? withLastValid({
            translated,
            isCurrent: noted.isCurrent,
            resource,
            last: lastValid.get(key, uid),
            translate: (older) => translateTracked(older, translating, recordingAsk),
          })
        : { translated, isCurrent: noted.isCurrent };
      if (served === translated && translated[0]?.entity) lastValid?.record(key, resource);
      if (last) lastValid?.recordSecret(key, last);
      const isFaulty = !noted.translated[0]?.entity;
      const pieces = served.map((checked) => translatedEntityOf(owner, checked));
      const entry: Entry = {
        owner,
        key,
        uid,
        version,
        holds: isFaulty && lastValid ? validUntilRestored(isCurrent, { lastValid, key, uid }) : isCurrent,
        entities: pieces,
        dependencies: asked.size === 0 ? nothing : asked,
        secret: last,
      };
      remembered.set(key, entry);
      entries.set(resource, entry);
      return entry;
    },
    forget(key) {
      remembered.delete(key);
      lastValid?.forget(key);
    },
    keepOnly(keys) {
      lastValid?.keepOnly(keys);
      for (const key of remembered.keys()) if (!keys.has(key)) remembered.delete(key);
    },
  };
}
