/** The result of a translation: the document's items, each with its owner, and the problems of all resources. */
import type { Ref, SluiceKind } from "@sluice/crds";
import type { BucketMap, Collection, ServiceEndpoint } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";

export interface Owner extends Ref {
  readonly kind: SluiceKind;
}

export interface Item {
  readonly owner: Owner;
  /** Flat entity with references as ids. The identical object while nothing about it changes. */
  readonly entity: Readonly<Record<string, unknown>> & { readonly id: string };
}

/** After an incremental translation, the maps share unchanged buckets with the maps of the previous translation. */
export interface Translation {
  /** Items by id. */
  readonly items: Readonly<Record<Collection, BucketMap<Item>>>;
  /** Addresses by service id, for services with a backendRef. */
  readonly endpoints: BucketMap<readonly ServiceEndpoint[]>;
  /** Problems by owner (`refKey`). */
  readonly problems: BucketMap<readonly Problem[]>;
  /** Resources of this operator's class, by `refKey`. */
  readonly owners: BucketMap<Owner>;
}
