/** The table of entities: the one place that lists them. Everything else is derived from it. */
import { type Consumer, consumer } from "./consumer.ts";
import { type Credential, credential } from "./credential.ts";
import { type Plugin, plugin } from "./plugin.ts";
import { type Route, route } from "./route.ts";
import { type Service, service } from "./service.ts";

/** Filled entities by the name of their collection, as in the declarative file and in admin URLs. */
export interface Entities {
  readonly services: Service;
  readonly routes: Route;
  readonly plugins: Plugin;
  readonly consumers: Consumer;
  readonly keyauth_credentials: Credential;
}

export type Collection = keyof Entities;
export type Entity = Entities[Collection];

/** Facts about an entity that its JSON schema does not say. */
export interface EntityFacts {
  readonly schema: typeof service | typeof route | typeof plugin | typeof consumer | typeof credential;
  /** One of them, in words. */
  readonly singular: string;
  /** The member that names it in URLs and ids (`endpoint_key` in Kong). */
  readonly key: string;
  /** Members that no two may share. */
  readonly unique: readonly string[];
}

/** Parents stand before children, so that references can be resolved in this order. */
export const entities: Readonly<Record<Collection, EntityFacts>> = {
  services: { schema: service, singular: "service", key: "name", unique: ["name"] },
  routes: { schema: route, singular: "route", key: "name", unique: ["name"] },
  consumers: { schema: consumer, singular: "consumer", key: "username", unique: ["username", "custom_id"] },
  keyauth_credentials: { schema: credential, singular: "keyauth_credential", key: "key", unique: ["key"] },
  plugins: { schema: plugin, singular: "plugin", key: "instance_name", unique: ["instance_name"] },
};

export const collections = Object.keys(entities) as readonly Collection[];

export type { Consumer, Credential, Plugin, Route, Service };
