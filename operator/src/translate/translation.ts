/** What translating the world gives: the document's items, each with its owner, and everybody's problems. */
import type { Kind, Ref, SluiceKind } from "@sluice/crds";
import type { BucketMap, Collection, Endpoint } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";

/** A custom resource of ours. */
export interface Owner extends Ref {
  readonly kind: SluiceKind;
}

export interface Item {
  readonly owner: Owner;
  /** Flat entity, references as ids. The same object as before when nothing about it changed. */
  readonly entity: Readonly<Record<string, unknown>> & { readonly id: string };
}

/** Its maps share with those of the translation before what did not change. */
export interface Translation {
  /** Items by id. */
  readonly items: Readonly<Record<Collection, BucketMap<Item>>>;
  /** Addresses by service id, for services with a backendRef. */
  readonly endpoints: BucketMap<readonly Endpoint[]>;
  /** Problems by owner (`ownerKey`). */
  readonly problems: BucketMap<readonly Problem[]>;
  /** Resources that belong to this Sluice (spec.class), by `ownerKey`. */
  readonly owners: BucketMap<Owner>;
}

export const ownerKey = ({ kind, namespace, name }: Ref): string => `${kind}/${namespace}/${name}`;

/** `Kind/namespace/name` taken apart. */
export function parseOwnerKey(key: string): { readonly kind: Kind; readonly name: string } {
  const end = key.indexOf("/");
  return { kind: key.slice(0, end) as Kind, name: key.slice(end + 1) };
}
