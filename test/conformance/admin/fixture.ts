/**
 * The entities that exist before the first row of a table: one of each kind that the rows need, named `base` or
 * `base.example` if the kind has names.
 */
import { deriveId, registerPlugins } from "@sluice/model";
import { firstKeyPair } from "../../../tools/programs/pairs.ts";
import { deviceTokenFacts } from "../../plugins/device-token.ts";

// A plugin like one that a user has written, with its own kind of credentials.
registerPlugins([deviceTokenFacts]);

export const ids = {
  service: deriveId("services", "base"),
  route: deriveId("routes", "base"),
  consumer: deriveId("consumers", "base"),
  key: "11111111-1111-4111-8111-111111111111",
  plugin: deriveId("plugins", "base"),
  upstream: deriveId("upstreams", "base.example"),
  target: "22222222-2222-4222-8222-222222222222",
  certificate: "33333333-3333-4333-8333-333333333333",
  sni: deriveId("snis", "base.example"),
  unknown: "99999999-9999-4999-8999-999999999999",
} as const;

/** The POST requests that create the entities, in this order. The key of the key-auth credential is `base-key`. */
export const fixture: readonly (readonly [path: string, body: object])[] = [
  ["/certificates", { id: ids.certificate, ...firstKeyPair, snis: ["base.example"] }],
  ["/services", { name: "base", host: "base.example", tags: ["blue", "base"] }],
  ["/services/base/routes", { name: "base", paths: ["/base"] }],
  ["/consumers", { username: "base", custom_id: "base-42", tags: ["blue"] }],
  ["/consumers/base/key-auth", { id: ids.key, key: "base-key" }],
  ["/services/base/plugins", { name: "cors", instance_name: "base" }],
  ["/upstreams", { name: "base.example" }],
  ["/upstreams/base.example/targets", { id: ids.target, target: "10.0.0.1:80" }],
];

/** The collections, children before their parents. */
export const fixtureLists = [
  "/plugins",
  "/vaults",
  "/graphql_documents",
  "/key-auths",
  "/jwts",
  "/basic-auths",
  "/hmac-auths",
  "/mtls-auths",
  "/acls",
  "/plugin-credentials",
  "/consumers",
  "/consumer_groups",
  "/routes",
  "/services",
  "/upstreams",
  "/snis",
  "/certificates",
  "/ca_certificates",
];
