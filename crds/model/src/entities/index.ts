/** The table of entities: the one place that lists them. Everything else is derived from it. */
import { type Certificate, certificate } from "./certificate.ts";
import { type Consumer, consumer } from "./consumer.ts";
import { type Credential, credential } from "./credential.ts";
import { type Plugin, plugin } from "./plugin.ts";
import { type Route, route } from "./route.ts";
import { type Service, service } from "./service.ts";
import { type Sni, sni } from "./sni.ts";
import { type Target, target } from "./target.ts";
import { type Upstream, upstream } from "./upstream.ts";
import type { UpstreamHeader } from "./upstream-headers.ts";

/** Stored entities by the name of their collection, as in the declarative file and in admin URLs. */
export interface Entities {
  readonly certificates: Certificate;
  readonly snis: Sni;
  readonly upstreams: Upstream;
  readonly targets: Target;
  readonly services: Service;
  readonly routes: Route;
  readonly consumers: Consumer;
  readonly keyauth_credentials: Credential;
  readonly plugins: Plugin;
}

export type Collection = keyof Entities;
export type Entity = Entities[Collection];

/** Facts about an entity that its JSON schema does not express. */
export interface EntityFacts {
  readonly schema:
    | typeof certificate
    | typeof sni
    | typeof upstream
    | typeof target
    | typeof service
    | typeof route
    | typeof consumer
    | typeof credential
    | typeof plugin;
  /** The English singular. */
  readonly singular: string;
  /** The member that identifies it in URLs and ids (`endpoint_key` in Kong); null: it has no name. */
  readonly key: string | null;
  /** Members that are unique each. */
  readonly unique: readonly string[];
  /** Members that are unique in combination, unset ones included. */
  readonly uniqueTogether?: readonly string[];
  /** The reference to the parent within which the key is unique; the collection then has no top-level list. */
  readonly within?: string;
}

/** Parents come before children, so that references can be resolved in this order. */
export const entities: Readonly<Record<Collection, EntityFacts>> = {
  certificates: { schema: certificate, singular: "certificate", key: null, unique: [] },
  snis: { schema: sni, singular: "sni", key: "name", unique: ["name"] },
  upstreams: { schema: upstream, singular: "upstream", key: "name", unique: ["name"] },
  targets: {
    schema: target,
    singular: "target",
    key: "target",
    unique: [],
    uniqueTogether: ["upstream", "target"],
    within: "upstream",
  },
  services: { schema: service, singular: "service", key: "name", unique: ["name"] },
  routes: { schema: route, singular: "route", key: "name", unique: ["name"] },
  consumers: { schema: consumer, singular: "consumer", key: "username", unique: ["username", "custom_id"] },
  keyauth_credentials: { schema: credential, singular: "keyauth_credential", key: "key", unique: ["key"] },
  plugins: {
    schema: plugin,
    singular: "plugin",
    key: "instance_name",
    unique: ["instance_name"],
    uniqueTogether: ["name", "route", "service", "consumer"],
  },
};

export const collections = Object.keys(entities) as readonly Collection[];

/** The name of an entity in URLs and ids; undefined if it has none. */
export function nameOf(collection: Collection, members: object): string | undefined {
  const { key } = entities[collection];
  const name = key === null ? undefined : (members as Readonly<Record<string, unknown>>)[key];
  return typeof name === "string" ? name : undefined;
}

export type { Certificate, Consumer, Credential, Plugin, Route, Service, Sni, Target, Upstream, UpstreamHeader };
