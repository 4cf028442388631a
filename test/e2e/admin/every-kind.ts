/** A small file with every kind of entity, and the same file after changes. */
import { hash, X509Certificate } from "node:crypto";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { type KongEntity, type KongFile, kongPlugin } from "./kong-file.ts";

export interface EveryKind {
  /** The port to which the service `users` sends its requests. */
  readonly upstreamPort: number;
}

export const certificateId = "b3f1e0c4-3a1d-4c55-9b1e-0a5f7d2f6a01";
export const authorityId = "c4f1e0c4-3a1d-4c55-9b1e-0a5f7d2f6a02";
const authority = await makeAuthority();
/** decK's dumps contain this digest. */
const authorityDigest = hash("sha256", new X509Certificate(authority.certificate).raw);
const pair = await authority.issue({ name: "example.test", sans: ["example.test"], usage: "server" });
const later = await authority.issue({ name: "example.test", sans: ["example.test"], usage: "server" });

/**
 * The file before the changes. It has no basicauth_credentials, because decK can neither dump them with
 * `--skip-defaults` nor validate them; deck.test.ts has a test of their own. No member except `enabled` of plugins has
 * its default value, so that a dump without defaults equals the file.
 */
export function everyKind({ upstreamPort }: EveryKind): KongFile {
  return {
    _format_version: "3.0",
    services: [
      {
        name: "users",
        host: "127.0.0.1",
        port: upstreamPort,
        retries: 2,
        tags: ["team-a"],
        routes: [
          {
            name: "users",
            paths: ["/users"],
            tags: ["team-a"],
            plugins: [kongPlugin("key-auth", { hide_credentials: true })],
          },
          {
            name: "Weird_Näme.~1",
            hosts: ["*.example.test"],
            headers: { "x-version": ["2", "3"] },
            preserve_host: true,
          },
        ],
        plugins: [kongPlugin("cors", { origins: ["https://example.test"], max_age: 60 }, { enabled: false })],
      },
      { name: "private", host: "private.internal", port: 443, protocol: "https", ca_certificates: [authorityId] },
      { name: "balanced", host: "balanced.internal", connect_timeout: 1000, path: "/base" },
    ],
    routes: [{ name: "nowhere", paths: ["/nowhere"], methods: ["GET"], strip_path: false }],
    plugins: [
      kongPlugin("prometheus", { per_consumer: true }),
      kongPlugin("rate-limiting", { minute: 3, limit_by: "ip" }, { service: "users", consumer: "ann" }),
    ],
    consumers: [
      {
        username: "ann",
        custom_id: "custom/1",
        tags: ["team-a"],
        keyauth_credentials: [{ key: "key-of-ann" }, { key: "Second.Key~of_ann", tags: ["rotated"] }],
        acls: [{ group: "staff", tags: ["team-a"] }, { group: "users" }],
        hmacauth_credentials: [{ username: "ann", secret: "secret-of-ann" }],
        jwt_secrets: [{ key: "ann", secret: "secret-of-ann", algorithm: "HS512" }],
        mtls_auth_credentials: [{ id: "b3f1e0c4-3a1d-4c55-9b1e-0a5f7d2f6a02", subject_name: "ann@example.test" }],
        groups: [{ name: "gold" }],
        plugins: [kongPlugin("rate-limiting", { hour: 1000, limit_by: "ip" })],
      },
      { username: "bob@example.test" },
    ],
    consumer_groups: [
      { name: "gold", plugins: [{ name: "rate-limiting", config: { hour: 500, limit_by: "ip" } }] },
      { name: "silver", tags: ["team-a"] },
    ],
    vaults: [
      { prefix: "my-env", name: "env", description: "of the team", config: { prefix: "APP_" }, tags: ["team-a"] },
      { prefix: "other-env", name: "env" },
    ],
    upstreams: [
      {
        name: "balanced.internal",
        algorithm: "least-connections",
        healthchecks: { passive: { unhealthy: { http_failures: 3 } } },
        targets: [{ target: "127.0.0.1:9001", weight: 10 }, { target: "127.0.0.1:9002" }],
      },
    ],
    ca_certificates: [
      { id: authorityId, cert: authority.certificate.trim(), cert_digest: authorityDigest, tags: ["team-a"] },
    ],
    certificates: [
      {
        id: certificateId,
        cert: pair.certificate.trim(),
        key: pair.key.trim(),
        tags: ["team-a"],
        snis: [{ name: "example.test" }, { name: "*.example.test" }],
      },
    ],
  };
}

/** The same entities after several changes. */
export function nextDay(file: KongFile): KongFile {
  const [users, secure, balanced] = entities(file.services);
  const [ann] = entities(file.consumers);
  const [upstream] = entities(file.upstreams);
  const [certificate] = entities(file.certificates);
  const [vault] = entities(file.vaults);
  const [first, weird] = entities(users?.routes);
  return {
    ...file,
    services: [
      { ...users, retries: 3, plugins: [], routes: [{ ...first, paths: ["/users", "/people"] }, { ...weird }] },
      { ...secure, ca_certificates: [] },
      { ...balanced, routes: [{ name: "new", paths: ["/new"] }] },
    ],
    routes: [],
    plugins: entities(file.plugins).map((plugin) =>
      plugin.name === "prometheus" ? { ...plugin, config: {} } : plugin,
    ),
    consumers: [{ ...ann, keyauth_credentials: [{ key: "key-of-ann" }], groups: [{ name: "bronze" }] }],
    consumer_groups: [{ name: "bronze" }, { name: "gold", tags: ["team-a"] }],
    vaults: [
      { ...vault, config: { prefix: "TEAM_" } },
      { prefix: "new-env", name: "env" },
    ],
    upstreams: [{ ...upstream, targets: [{ target: "127.0.0.1:9001", weight: 20 }] }],
    ca_certificates: [],
    certificates: [{ ...certificate, cert: later.certificate.trim(), key: later.key.trim() }],
  };
}

const entities = (list: unknown): readonly KongEntity[] => (Array.isArray(list) ? list : []);
