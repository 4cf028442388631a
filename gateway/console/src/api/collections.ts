/** The collections of the admin API as the console shows them. Members and their types come from the API's schemas. */
import type { EntityRecord } from "./load-entities.ts";

export interface CollectionView {
  /** The name in `GET /schemas/{collection}`. */
  readonly collection: string;
  /** The segment of the URL. */
  readonly path: string;
  readonly title: string;
  readonly singular: string;
  /** The members by which an entity is called, in this order. */
  readonly names: readonly string[];
  /** The members in the list, besides the name. */
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

const credential = (segment: string, collection: string, title: string): ChildView => ({
  segment,
  collection,
  title,
  member: "consumer",
});

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
      credential("key-auth", "keyauth_credentials", "API keys"),
      credential("basic-auth", "basicauth_credentials", "Passwords (basic-auth)"),
      credential("jwt", "jwt_secrets", "JWT credentials"),
      credential("hmac-auth", "hmacauth_credentials", "HMAC credentials"),
      credential("mtls-auth", "mtls_auth_credentials", "Client certificates"),
      credential("plugin-credentials", "plugin_credentials", "Credentials of your own plugins"),
      credential("acls", "acls", "ACL groups"),
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
    names: ["cert_digest"],
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
];

/** Collections that exist only below a parent. */
const childNames: Readonly<
  Record<string, { readonly singular: string; readonly names: readonly string[]; readonly columns: readonly string[] }>
> = {
  targets: { singular: "target", names: ["target"], columns: ["weight"] },
  keyauth_credentials: { singular: "API key", names: [], columns: ["ttl"] },
  basicauth_credentials: { singular: "password", names: ["username"], columns: [] },
  jwt_secrets: { singular: "JWT credential", names: [], columns: ["algorithm"] },
  hmacauth_credentials: { singular: "HMAC credential", names: ["username"], columns: [] },
  mtls_auth_credentials: { singular: "client certificate", names: ["subject_name"], columns: ["ca_certificate"] },
  plugin_credentials: { singular: "plugin credential", names: [], columns: ["plugin"] },
  acls: { singular: "ACL group", names: ["group"], columns: [] },
};

export const viewAt = (path: string): CollectionView | undefined => collectionViews.find((view) => view.path === path);

/** How the entities of a collection are shown, also of one that exists only below a parent. */
export const namingOf = (collection: string): Pick<CollectionView, "singular" | "names" | "columns"> =>
  collectionViews.find((view) => view.collection === collection) ??
  childNames[collection] ?? { singular: collection, names: ["name"], columns: [] };

/** The name of an entity, or the beginning of its id. */
export function titleOf(collection: string, entity: EntityRecord): string {
  for (const member of namingOf(collection).names) {
    const value = entity[member];
    if (typeof value === "string" && value !== "") return member === "cert_digest" ? `${value.slice(0, 16)}…` : value;
    if (Array.isArray(value) && value.length > 0) return value.join(", ");
  }
  return `${entity.id.slice(0, 8)}…`;
}
