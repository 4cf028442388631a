/** The entities that exist while bad input is sent, and bodies that create more. */
import type { Collection } from "@sluice/model";
import { firstKeyPair } from "../../../tools/programs/pairs.ts";

export const standingCertificate = "33333333-3333-4333-8333-333333333333";

/** Writes that create one entity in each list of listing.ts, and a target; no test may change these entities. */
export const standingWrites: readonly object[] = [
  { method: "POST", path: "/certificates", body: { id: standingCertificate, ...firstKeyPair, snis: ["base.example"] } },
  { method: "POST", path: "/upstreams", body: { name: "base.example" } },
  { method: "POST", path: "/upstreams/base.example/targets", body: { target: "10.0.0.1:80" } },
  { method: "POST", path: "/services", body: { name: "base", host: "base.example", tags: ["blue"] } },
  { method: "POST", path: "/services/base/routes", body: { name: "base", paths: ["/base"] } },
  { method: "POST", path: "/consumers", body: { username: "base", custom_id: "42" } },
  { method: "POST", path: "/consumers/base/key-auth", body: { key: "base-key" } },
  { method: "POST", path: "/services/base/plugins", body: { name: "cors", instance_name: "base" } },
];

/**
 * By collection, the path and body of a request that creates another entity. The new `cors` is global; the one above
 * has a service.
 */
export const creationRequests: { readonly [Name in Collection]?: readonly [path: string, body: object] } = {
  certificates: ["/certificates", firstKeyPair],
  snis: ["/snis", { name: "other.example", certificate: { id: standingCertificate } }],
  upstreams: ["/upstreams", { name: "other.example" }],
  targets: ["/upstreams/base.example/targets", { target: "10.0.0.2:80" }],
  services: ["/services", { host: "a" }],
  routes: ["/routes", { paths: ["/other"] }],
  consumers: ["/consumers", { username: "other" }],
  keyauth_credentials: ["/key-auths", { key: "other", consumer: { username: "base" } }],
  jwt_secrets: ["/jwts", { key: "other", consumer: { username: "base" } }],
  basicauth_credentials: ["/basic-auths", { username: "other", password: "secret", consumer: { username: "base" } }],
  mtls_auth_credentials: ["/mtls-auths", { subject_name: "other", consumer: { username: "base" } }],
  hmacauth_credentials: ["/hmac-auths", { username: "other", consumer: { username: "base" } }],
  acls: ["/acls", { group: "other", consumer: { username: "base" } }],
  consumer_groups: ["/consumer_groups", { name: "other" }],
  vaults: ["/vaults", { prefix: "other", name: "env" }],
  graphql_documents: ["/graphql_documents", { name: "other", manifest: "{}" }],
  plugins: ["/plugins", { name: "cors" }],
};
