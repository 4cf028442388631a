/** The table of entities and the references between them. Everything else is derived from it. */
import { hash } from "node:crypto";
import type { RecordSchema, Static } from "@sluice/plugin-sdk";
import { type Consumer, consumerSchema } from "./consumer.ts";
import { type ConsumerGroup, consumerGroupSchema } from "./consumer-group.ts";
import { type Acl, aclSchema } from "./credentials/acl.ts";
import { type BasicAuthCredential, basicAuthSchema } from "./credentials/basic-auth.ts";
import { type ConsumerGroupConsumer, consumerGroupConsumerSchema } from "./credentials/consumer-group-consumer.ts";
import { type HmacAuthCredential, hmacAuthSchema } from "./credentials/hmac-auth.ts";
import { type JwtSecret, jwtSchema } from "./credentials/jwt.ts";
import { type KeyAuthCredential, keyAuthSchema } from "./credentials/key-auth.ts";
import { type MtlsAuthCredential, mtlsAuthSchema } from "./credentials/mtls-auth.ts";
import { type PluginCredential, pluginCredentialSchema } from "./credentials/plugin-credential.ts";
import { type GraphqlDocuments, graphqlDocumentsSchema } from "./graphql-documents.ts";
import { type Plugin, pluginEntitySchema } from "./plugin.ts";
import { type Route, routeSchema } from "./route.ts";
import { type Service, serviceSchema, type UpstreamHeader } from "./service.ts";
import { type Target, targetSchema } from "./target.ts";
import { type CaCertificate, caCertificateSchema } from "./tls/ca-certificate.ts";
import { type Acme, type Certificate, certificateSchema } from "./tls/certificate.ts";
import { type Sni, sniSchema } from "./tls/sni.ts";
import { type Upstream, upstreamSchema } from "./upstream.ts";
import { type Vault, vaultSchema } from "./vault.ts";

/** Facts about entities that identify or group consumers for a plugin. Their schemas have the reference `consumer`. */
export interface CredentialFacts {
  /**
   * The member by which a credential is looked up for a request; null: it is found by its consumer. With
   * `uniqueTogether`, several credentials may have the same value.
   */
  readonly lookup: string | null;
  /** Members that the admin API generates when they are unset. */
  readonly generated: readonly string[];
  /** The list of these credentials in the spec of a custom resource Consumer. */
  readonly list: string;
  /** Segments of the admin API's URLs, as in Kong: `/key-auths` and `/consumers/{consumer}/key-auth`. */
  readonly segments: { readonly top: string; readonly nested: string };
}

/** Facts about an entity that its JSON schema does not express. */
export interface EntityFacts {
  readonly schema: RecordSchema;
  /** The English singular. */
  readonly singular: string;
  /** The member that identifies the entity in URLs and ids (`endpoint_key` in Kong); null: it has no name. */
  readonly key: string | null;
  /** Members whose values are unique in the collection. */
  readonly unique: readonly string[];
  /** Members whose values are unique in combination; unset members count too. */
  readonly uniqueTogether?: readonly string[];
  /** The reference to the parent within which the key is unique. */
  readonly within?: string;
  readonly credential?: CredentialFacts;
}

/** Parents come before children, so that references can be resolved in this order. */
const table = {
  certificates: { schema: certificateSchema, singular: "certificate", key: null, unique: [] },
  ca_certificates: {
    schema: caCertificateSchema,
    singular: "ca_certificate",
    key: null,
    unique: ["cert_digest"],
  },
  snis: { schema: sniSchema, singular: "sni", key: "name", unique: ["name"] },
  upstreams: { schema: upstreamSchema, singular: "upstream", key: "name", unique: ["name"] },
  targets: {
    schema: targetSchema,
    singular: "target",
    key: "target",
    unique: [],
    uniqueTogether: ["upstream", "target"],
    within: "upstream",
  },
  services: { schema: serviceSchema, singular: "service", key: "name", unique: ["name"] },
  routes: { schema: routeSchema, singular: "route", key: "name", unique: ["name"] },
  consumers: { schema: consumerSchema, singular: "consumer", key: "username", unique: ["username", "custom_id"] },
  consumer_groups: { schema: consumerGroupSchema, singular: "consumer_group", key: "name", unique: ["name"] },
  keyauth_credentials: {
    schema: keyAuthSchema,
    singular: "keyauth_credential",
    key: "key",
    unique: ["key"],
    credential: {
      lookup: "key",
      generated: ["key"],
      list: "keyAuth",
      segments: { top: "key-auths", nested: "key-auth" },
    },
  },
  jwt_secrets: {
    schema: jwtSchema,
    singular: "jwt_secret",
    key: "key",
    unique: ["key"],
    credential: { lookup: "key", generated: ["key", "secret"], list: "jwt", segments: { top: "jwts", nested: "jwt" } },
  },
  basicauth_credentials: {
    schema: basicAuthSchema,
    singular: "basicauth_credential",
    key: "username",
    unique: ["username"],
    credential: {
      lookup: "username",
      generated: [],
      list: "basicAuth",
      segments: { top: "basic-auths", nested: "basic-auth" },
    },
  },
  hmacauth_credentials: {
    schema: hmacAuthSchema,
    singular: "hmacauth_credential",
    key: "username",
    unique: ["username"],
    credential: {
      lookup: "username",
      generated: ["secret"],
      list: "hmacAuth",
      segments: { top: "hmac-auths", nested: "hmac-auth" },
    },
  },
  mtls_auth_credentials: {
    schema: mtlsAuthSchema,
    singular: "mtls_auth_credential",
    key: null,
    unique: [],
    uniqueTogether: ["subject_name", "ca_certificate"],
    credential: {
      lookup: "subject_name",
      generated: [],
      list: "mtlsAuth",
      segments: { top: "mtls-auths", nested: "mtls-auth" },
    },
  },
  acls: {
    schema: aclSchema,
    singular: "acl",
    key: "group",
    unique: [],
    uniqueTogether: ["consumer", "group"],
    within: "consumer",
    credential: { lookup: null, generated: [], list: "acls", segments: { top: "acls", nested: "acls" } },
  },
  consumer_group_consumers: {
    schema: consumerGroupConsumerSchema,
    singular: "consumer_group_consumer",
    key: null,
    unique: [],
    uniqueTogether: ["consumer", "consumer_group"],
    credential: {
      lookup: null,
      generated: [],
      list: "consumerGroups",
      segments: { top: "consumer_group_consumers", nested: "consumer_groups" },
    },
  },
  vaults: { schema: vaultSchema, singular: "vault", key: "prefix", unique: ["prefix"] },
  graphql_documents: { schema: graphqlDocumentsSchema, singular: "graphql_document", key: "name", unique: ["name"] },
  plugin_credentials: {
    schema: pluginCredentialSchema,
    singular: "plugin_credential",
    key: null,
    unique: [],
    uniqueTogether: ["plugin", "key"],
    credential: {
      lookup: "key",
      generated: [],
      list: "pluginCredentials",
      segments: { top: "plugin-credentials", nested: "plugin-credentials" },
    },
  },
  plugins: {
    schema: pluginEntitySchema,
    singular: "plugin",
    key: "instance_name",
    unique: ["instance_name"],
    uniqueTogether: ["name", "route", "service", "consumer", "consumer_group"],
  },
} satisfies Readonly<Record<string, EntityFacts>>;

/** The name of a collection, as in the declarative file. The admin API's URLs contain it, except for credentials. */
export type Collection = keyof typeof table;
export type Entities = { readonly [Name in Collection]: Static<(typeof table)[Name]["schema"]> };
export type Entity = Entities[Collection];

export const entities: Readonly<Record<Collection, EntityFacts>> = table;

export const collections = Object.keys(entities) as readonly Collection[];

/** The collections of credentials. */
export type CredentialCollection = {
  [Name in Collection]: (typeof table)[Name] extends { readonly credential: CredentialFacts } ? Name : never;
}[Collection];

export const credentialCollections = collections.filter(
  (collection): collection is CredentialCollection => entities[collection].credential !== undefined,
);

/** A value for each collection. */
export type PerCollection<Value> = Readonly<Record<Collection, Value>>;
/** Makes a value for each collection, in the order of the collections: parents before children. */
export const perCollection = <Value>(make: (collection: Collection) => Value): PerCollection<Value> =>
  Object.fromEntries(collections.map((collection) => [collection, make(collection)])) as Record<Collection, Value>;

/** The names of the secret members, by collection. In Kubernetes, the values of these members are in Secrets. */
export const entitySecrets = perCollection((collection): readonly string[] =>
  Object.entries(entities[collection].schema.properties).flatMap(([name, { secret }]) => (secret ? [name] : [])),
);

/**
 * Whether requests identify the credentials of the collection by their secrets, as in key-auth. Nodes store only the
 * SHA-256 of such a secret.
 */
export const isSecretLookup = (collection: Collection): boolean =>
  entitySecrets[collection].includes(entities[collection].credential?.lookup ?? "");

/**
 * The SHA-256 in hex by which nodes know a secret lookup value. Two plugins may have credentials with the same key, so
 * the hash of a plugin's credential also covers the plugin's name.
 */
export const lookupHash = (secret: string, plugin?: unknown): string =>
  hash("sha256", plugin === undefined ? secret : `${plugin} ${secret}`);

/** The name of an entity in URLs and ids; undefined if it has none. */
export function entityNameOf(collection: Collection, members: object): string | undefined {
  const { key } = entities[collection];
  const name = key === null ? undefined : (members as Readonly<Record<string, unknown>>)[key];
  return typeof name === "string" ? name : undefined;
}

export interface Reference {
  /** The member that holds the reference: `service`. */
  readonly member: string;
  readonly to: Collection;
  /**
   * On removal of the referenced entity, `cascade` also removes the referring entity; `restrict` refuses the removal.
   */
  readonly onDelete: "cascade" | "restrict";
}

export interface NestedList {
  /** The collection that may be nested in the parent, and the name of the list. */
  readonly child: Collection;
  /** The reference that the nesting replaces. */
  readonly member: string;
}

/** The references of a collection's entities. */
export const references = perCollection((collection): readonly Reference[] => {
  const { properties = {} } = entities[collection].schema;
  return Object.entries(properties).flatMap(([member, { reference: to, onDelete = "cascade" }]) =>
    to === undefined ? [] : [{ member, to, onDelete }],
  );
});

/** The lists that may be nested in an entity of a declarative file. */
export const nestedLists = perCollection((parent): readonly NestedList[] =>
  collections.flatMap((child) =>
    references[child].filter(({ to }) => to === parent).map(({ member }) => ({ child, member })),
  ),
);

export { servedProtocols, streamProtocols } from "./plugin.ts";
export { vaultKinds } from "./vault.ts";
export type {
  Acl,
  Acme,
  BasicAuthCredential,
  CaCertificate,
  Certificate,
  Consumer,
  ConsumerGroup,
  ConsumerGroupConsumer,
  GraphqlDocuments,
  HmacAuthCredential,
  JwtSecret,
  KeyAuthCredential,
  MtlsAuthCredential,
  Plugin,
  PluginCredential,
  Route,
  Service,
  Sni,
  Target,
  Upstream,
  UpstreamHeader,
  Vault,
};
