/** Members of kinds that are translated alike, in both directions. */
import { type Collection, credentialCollections, entities, type ResourceKind } from "@sluice/model";

/** Kinds whose `spec.name` is the entity's name. The others have a different naming member or none. */
export const namedKinds: ReadonlySet<ResourceKind> = new Set(["Upstream", "Service", "Route", "ConsumerGroup"]);

/** A member of a spec that refers to one resource, and the entity's member for it. */
interface SingleReference {
  readonly ref: string;
  readonly kind: ResourceKind;
  readonly member: string;
}

const clientCertificate: SingleReference = {
  ref: "clientCertificateRef",
  kind: "Certificate",
  member: "client_certificate",
};

export const singleReferences: { readonly [Name in ResourceKind]?: SingleReference } = {
  Route: { ref: "serviceRef", kind: "Service", member: "service" },
  Service: clientCertificate,
  Upstream: clientCertificate,
};

/**
 * A list in a spec whose entries are entities of their own, and the member of these entities that refers to their
 * parent.
 */
export interface ChildList {
  readonly list: string;
  readonly collection: Collection;
  readonly parent: string;
  /** The resource to which an entry refers by `name` and `namespace`, and the entity's member for it. */
  readonly reference?: Pick<SingleReference, "kind" | "member">;
}

const memberships: Pick<ChildList, "reference"> = { reference: { kind: "ConsumerGroup", member: "consumer_group" } };

export const childLists: Readonly<Record<ResourceKind, readonly ChildList[]>> = {
  Certificate: [{ list: "snis", collection: "snis", parent: "certificate" }],
  Upstream: [{ list: "targets", collection: "targets", parent: "upstream" }],
  Consumer: credentialCollections.map((collection) => ({
    list: entities[collection].credential?.list ?? collection,
    collection,
    parent: "consumer",
    ...(collection === "consumer_group_consumers" && memberships),
  })),
  Service: [],
  Route: [],
  ConsumerGroup: [],
  Vault: [],
  Plugin: [],
};
