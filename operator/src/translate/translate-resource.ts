/**
 * Translates single resources, with the last valid version in place of an invalid one. Results are cached: an unchanged
 * resource has the identical translation.
 */
import {
  type CheckedTranslation,
  createTranslationCache,
  type DerivedResource,
  type ReferencedResource,
  type Resource,
  refKey,
  type SluiceKind,
  type TranslationCache,
  type TranslationLookups,
  translateToEntities,
  translateTracked,
} from "@sluice/crds";
import type { LastValidVersions } from "../saved-state/last-valid-versions.ts";
import { withCurrentScope, withLastSecret, withLastValid } from "./fallback/last-valid.ts";
import type { Owner, TranslationItem } from "./translation.ts";

/** One entity of a resource, with derived data that a full translation needs repeatedly. */
export interface EntityTranslation extends Pick<CheckedTranslation, "collection" | "item" | "violations" | "backends"> {
  /**
   * Undefined when there are violations that are not partial, unless the last valid version or the last valid Secret is
   * used instead.
   */
  readonly validItem: TranslationItem | undefined;
  /** The references, each with its `refKey`. */
  readonly references: readonly (ReferencedResource & { readonly key: string })[];
}

export interface ResourceTranslation {
  readonly owner: Owner;
  /** `refKey` of the owner. */
  readonly key: string;
  readonly entities: readonly EntityTranslation[];
  /** The keys of everything that was read, existing or not. */
  readonly dependencies: ReadonlySet<string>;
  /** The last valid Secret of a Certificate; undefined: none is known, or the owner is of another kind. */
  readonly secret: Resource | undefined;
}

/** Shared by all entities without violations or references. */
const none: readonly never[] = [];

function entityTranslationOf(owner: Owner, checked: CheckedTranslation): EntityTranslation {
  const { collection, item, violations, backends, entity, references } = checked;
  const filled = entity as unknown as TranslationItem["entity"] | undefined;
  return {
    collection,
    // Only one of item and entity is kept: both have the same content, and there are very many entities.
    item: filled ?? item,
    violations: violations.length === 0 ? none : violations,
    ...(backends && { backends }),
    validItem: filled && { owner, entity: filled },
    references: references?.map((reference) => ({ ...reference, key: refKey(reference) })) ?? none,
  };
}

/** @param lastValid The last valid versions, which replace invalid ones. Absent: invalid resources are not replaced. */
export function createResourceTranslations(
  homeNamespace: string,
  lastValid?: LastValidVersions,
): TranslationCache<ResourceTranslation> {
  const options = { homeNamespace, audience: "nodes" } as const;
  const cache = createTranslationCache<ResourceTranslation>({
    versionOf({ metadata, derived }: Resource & Partial<DerivedResource>) {
      const version = metadata.generation ?? metadata.resourceVersion;
      return derived?.version === undefined ? version : `${version} ${derived.version}`;
    },
    translate(resource, lookups, previous) {
      const { namespace, name, uid } = resource.metadata;
      const owner: Owner = previous?.value.owner ?? { kind: resource.kind as SluiceKind, namespace, name };
      const key = refKey(owner);
      let secret: Resource | undefined;
      const readingSecret: TranslationLookups = {
        ...lookups,
        read(...of) {
          const found = lookups.read(...of);
          if (of[0] === "Secret") secret = found;
          return found;
        },
      };
      const current = translateTracked(resource, options, readingSecret);
      const isFaulty = !current.translated[0]?.entity;
      if (isFaulty)
        secret = lastValid?.secretOf(key, uid) ?? (previous?.isSameObject ? previous.value.secret : undefined);
      if (owner.kind !== "Certificate") secret = undefined;
      const translated = withLastSecret(current.translated, secret, (last) => {
        const read: TranslationLookups["read"] = (...of) => (of[0] === "Secret" ? last : lookups.read(...of));
        return translateToEntities(resource, { ...options, ...lookups, read });
      });
      const recorded = lastValid?.get(key, uid);
      const older = recorded && withCurrentScope(recorded, resource);
      const served = withLastValid({ ...current, translated }, recorded === resource ? undefined : older, (version) =>
        translateTracked(version, options, lookups),
      );
      if (served.translated === translated && translated[0]?.entity) lastValid?.record(key, resource);
      if (secret) lastValid?.recordSecret(key, secret);
      const { isCurrent, dependencies } = served;
      const entities = served.translated.map((checked) => entityTranslationOf(owner, checked));
      const value = { owner, key, entities, dependencies, secret };
      if (!isFaulty || !lastValid) return { value, isCurrent };
      // The substitute of an invalid resource may change when saved state is restored.
      const [version, saved] = [lastValid.get(key, uid), lastValid.secretOf(key, uid)];
      const isSubstituteCurrent = () => lastValid.get(key, uid) === version && lastValid.secretOf(key, uid) === saved;
      return { value, isCurrent: (lookups) => isCurrent(lookups) && isSubstituteCurrent() };
    },
  });
  return {
    translate: cache.translate,
    forget(key) {
      cache.forget(key);
      lastValid?.forget(key);
    },
    keepOnly(keys) {
      lastValid?.keepOnly(keys);
      cache.keepOnly(keys);
    },
  };
}
