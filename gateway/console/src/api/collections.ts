/** The collections of the admin API as the console shows them. Members and their types come from the API's schemas. */
import type { EntityRecord } from "./load-entities.ts";

export interface CollectionView {
  /** The name in `GET /schemas/{collection}`. */
  readonly collection: string;
  /** The segment of the URL. */
  readonly path: string;
  readonly title: string;
  readonly singular: string;
  /** The members that may name an entity: the first one that is set is shown. */
  readonly names: readonly string[];
  /** The members that the list shows as columns, besides the name. */
  readonly columns: readonly string[];
  /** Lists below an entity. */
  readonly children?: readonly ChildView[];
}

export interface ChildView {
  readonly segment: string;
  readonly collection: string;
  readonly title: string;
  /** The member of the child that refers to the parent. */
  readonly member: string;
}

const plugins = (member: string): ChildView => ({
  segment: "plugins",
  collection: "plugins",
  title: "Plugins",
  member,
});

/** Credentials of consumers: all of them at `path`, and those of one consumer below it at `segment`. */
const credentialViews: readonly (CollectionView & { readonly segment: string })[] = [
  {
    collection: "keyauth_credentials",
    path: "key-auths",
    segment: "key-auth",
    title: "API keys",
    singular: "API key",
    names: [],
    columns: ["consumer", "created_at", "ttl"],
  },
  {
    collection: "basicauth_credentials",
    path: "basic-auths",
    segment: "basic-auth",
    title: "Passwords (basic-auth)",
    singular: "password",
    names: ["username"],
    columns: ["consumer", "created_at"],
  },
  {
    collection: "jwt_secrets",
    path: "jwts",
    segment: "jwt",
    title: "JWT credentials",
    singular: "JWT credential",
    names: [],
    columns: ["consumer", "algorithm", "created_at"],
  },
  {
    collection: "hmacauth_credentials",
    path: "hmac-auths",
    segment: "hmac-auth",
    title: "HMAC credentials",
    singular: "HMAC credential",
    names: ["username"],
    columns: ["consumer", "created_at"],
  },
  {
    collection: "mtls_auth_credentials",
    path: "mtls-auths",
    segment: "mtls-auth",
    title: "Client certificates",
    singular: "client certificate",
    names: ["subject_name"],
    columns: ["consumer", "ca_certificate", "created_at"],
  },
  {
    collection: "plugin_credentials",
    path: "plugin-credentials",
    segment: "plugin-credentials",
    title: "Credentials of your own plugins",
    singular: "plugin credential",
    names: [],
    columns: ["consumer", "plugin", "created_at"],
  },
  {
    collection: "acls",
    path: "acls",
    segment: "acls",
    title: "ACL groups",
    singular: "ACL group",
    names: ["group"],
    columns: ["consumer", "created_at"],
  },
];

/** The collections that the page Entities offers. */
export const collectionViews: readonly CollectionView[] = [
  {
    collection: "services",
    path: "services",
    title: "Services",
    singular: "service",
    names: ["name"],
    columns: ["protocol", "host", "port", "path", "enabled"],
    children: [{ segment: "routes", collection: "routes", title: "Routes", member: "service" }, plugins("service")],
  },
  {
    collection: "routes",
    path: "routes",
    title: "Routes",
    singular: "route",
    names: ["name"],
    columns: ["hosts", "paths", "methods", "service", "regex_priority"],
    children: [plugins("route")],
  },
  {
    collection: "plugins",
    path: "plugins",
    title: "Plugins",
    singular: "plugin",
    names: ["name"],
    columns: ["instance_name", "service", "route", "consumer", "enabled"],
  },
  {
    collection: "consumers",
    path: "consumers",
    title: "Consumers",
    singular: "consumer",
    names: ["username", "custom_id"],
    columns: ["custom_id"],
    children: [
      ...credentialViews.map(({ segment, collection, title }) => ({ segment, collection, title, member: "consumer" })),
      plugins("consumer"),
    ],
  },
  {
    collection: "consumer_groups",
    path: "consumer_groups",
    title: "Consumer groups",
    singular: "consumer group",
    names: ["name"],
    columns: [],
    children: [plugins("consumer_group")],
  },
  {
    collection: "upstreams",
    path: "upstreams",
    title: "Upstreams",
    singular: "upstream",
    names: ["name"],
    columns: ["algorithm", "hash_on"],
    children: [{ segment: "targets", collection: "targets", title: "Targets", member: "upstream" }],
  },
  {
    collection: "certificates",
    path: "certificates",
    title: "Certificates",
    singular: "certificate",
    names: ["snis"],
    columns: ["snis"],
  },
  {
    collection: "snis",
    path: "snis",
    title: "Server names",
    singular: "server name",
    names: ["name"],
    columns: ["certificate"],
  },
  {
    collection: "ca_certificates",
    path: "ca_certificates",
    title: "CA certificates",
    singular: "CA certificate",
    names: ["title", "cert_digest"],
    columns: [],
  },
  {
    collection: "vaults",
    path: "vaults",
    title: "Vaults",
    singular: "vault",
    names: ["prefix"],
    columns: ["name", "description"],
  },
  {
    collection: "graphql_documents",
    path: "graphql_documents",
    title: "GraphQL documents",
    singular: "list of GraphQL documents",
    names: ["name"],
    columns: [],
  },
];

/** Collections that exist only below a parent. */
const childNames: Readonly<Record<string, Pick<CollectionView, "singular" | "names" | "columns">>> = {
  targets: { singular: "target", names: ["target"], columns: ["weight", "created_at"] },
  consumer_group_consumers: { singular: "membership in a consumer group", names: [], columns: [] },
};

const allViews: readonly CollectionView[] = [...collectionViews, ...credentialViews];

export const viewAt = (path: string): CollectionView | undefined => allViews.find((view) => view.path === path);

/** The collection's view; undefined if its entities exist only below a parent. */
export const viewOfCollection = (collection: string): CollectionView | undefined =>
  allViews.find((view) => view.collection === collection);

/** How the entities of a collection are shown, including a collection that exists only below a parent. */
export const namingOf = (collection: string): Pick<CollectionView, "singular" | "names" | "columns"> =>
  viewOfCollection(collection) ?? childNames[collection] ?? { singular: collection, names: ["name"], columns: [] };

/** The name of an entity, or the beginning of its id. */
export function entityTitle(collection: string, entity: EntityRecord): string {
  for (const member of namingOf(collection).names) {
    const value = entity[member];
    if (typeof value === "string" && value !== "") return member === "cert_digest" ? `${value.slice(0, 16)}…` : value;
    if (Array.isArray(value) && value.length > 0) return value.join(", ");
  }
  return `${entity.id.slice(0, 8)}…`;
}
