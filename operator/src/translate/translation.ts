/** The result of a translation: the document's items, each with its owner, and the problems of all resources. */
import type { Ref, SluiceKind } from "@sluice/crds";
import type { BucketMap, Collection, EndpointLists, EndpointSection } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";

export interface Owner extends Ref {
  readonly kind: SluiceKind;
}

export interface TranslationItem {
  readonly owner: Owner;
  /** Flat entity with references as ids. The identical object while nothing about it changes. */
  readonly entity: Readonly<Record<string, unknown>> & { readonly id: string };
}

/** Addresses by the id of the service with a backendRef, or of the upstream with backendRefs. */
export type TranslatedEndpoints = { readonly [Name in EndpointSection]: BucketMap<EndpointLists[Name]> };

/** After an incremental translation, the maps share unchanged buckets with the maps of the previous translation. */
export interface Translation extends TranslatedEndpoints {
  /** Items by id. */
  readonly items: Readonly<Record<Collection, BucketMap<TranslationItem>>>;
  /** Problems by owner (`refKey`). */
  readonly problems: BucketMap<readonly Problem[]>;
  /** Resources of this operator's class, by `refKey`. */
  readonly owners: BucketMap<Owner>;
}
