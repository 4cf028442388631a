/** Tables of members that are translated by the same rules for several kinds, from resource to entity and back. */
import { type Collection, credentialCollections, entities, type ResourceKind } from "@sluice/model";

/** Kinds whose `spec.name` is the entity's name. The others have a different naming member or none. */
export const namedKinds: ReadonlySet<ResourceKind> = new Set([
  "Upstream",
  "Service",
  "Route",
  "ConsumerGroup",
  "GraphQLDocuments",
]);

/** A member of a spec that refers to other resources, and the entity's member for them. */
interface SpecReference {
  readonly ref: string;
  readonly kind: ResourceKind;
  readonly member: string;
}

const clientCertificate: SpecReference = {
  ref: "clientCertificateRef",
  kind: "Certificate",
  member: "client_certificate",
};

export const singleReferences: { readonly [Name in ResourceKind]?: SpecReference } = {
  Route: { ref: "serviceRef", kind: "Service", member: "service" },
  Service: clientCertificate,
  Upstream: clientCertificate,
};

/** A list of references in a spec, and the entity's member with the ids. */
export const referenceLists: { readonly [Name in ResourceKind]?: SpecReference } = {
  Service: { ref: "caCertificateRefs", kind: "CACertificate", member: "ca_certificates" },
};

/**
 * A list in a spec whose entries are entities of their own, and the member of these entities that refers to their
 * parent.
 */
export interface ChildList {
  readonly list: string;
  readonly collection: Collection;
  readonly parent: string;
  /** The kind of resource to which an entry refers, and the entity's member for the reference. */
  readonly reference?: EntryReference;
}

export interface EntryReference extends Pick<SpecReference, "kind" | "member"> {
  /**
   * The entry's member with `name` and `namespace`; an entry may lack this member. Null: the entry itself has `name`
   * and `namespace`.
   */
  readonly ref: string | null;
}

const entryReferences: { readonly [Name in Collection]?: EntryReference } = {
  consumer_group_consumers: { ref: null, kind: "ConsumerGroup", member: "consumer_group" },
  mtls_auth_credentials: { ref: "caCertificateRef", kind: "CACertificate", member: "ca_certificate" },
};

export const childLists: Readonly<Record<ResourceKind, readonly ChildList[]>> = {
  Certificate: [{ list: "snis", collection: "snis", parent: "certificate" }],
  Upstream: [{ list: "targets", collection: "targets", parent: "upstream" }],
  Consumer: credentialCollections.map((collection) => {
    const { [collection]: reference } = entryReferences;
    const list = entities[collection].credential?.list ?? collection;
    return { list, collection, parent: "consumer", ...(reference && { reference }) };
  }),
  CACertificate: [],
  Service: [],
  Route: [],
  ConsumerGroup: [],
  Vault: [],
  GraphQLDocuments: [],
  Plugin: [],
};
