/** Kong's declarative files as decK reads and writes them: functions that create and compare them. */

export type KongEntity = Readonly<Record<string, unknown>>;

export interface KongFile {
  readonly _format_version: "3.0";
  readonly _info?: { readonly select_tags?: readonly string[] };
  readonly services?: readonly KongEntity[];
  readonly routes?: readonly KongEntity[];
  readonly plugins?: readonly KongEntity[];
  readonly consumers?: readonly KongEntity[];
  readonly consumer_groups?: readonly KongEntity[];
  readonly upstreams?: readonly KongEntity[];
  readonly certificates?: readonly KongEntity[];
  readonly ca_certificates?: readonly KongEntity[];
  readonly vaults?: readonly KongEntity[];
}

export const emptyKongFile: KongFile = { _format_version: "3.0" };

/**
 * A plugin with `enabled`, the one default that decK always writes, because the schemas of plugins do not contain it.
 */
export const kongPlugin = (name: string, config: object, members: object = {}): KongEntity => ({
  name,
  config,
  enabled: true,
  ...members,
});

const redis = {
  database: 1,
  host: "redis.example.test",
  password: null,
  port: 6380,
  server_name: null,
  ssl: true,
  ssl_verify: false,
  timeout: 2000,
  username: null,
};
const former = Object.fromEntries(Object.entries(redis).map(([name, value]) => [`redis_${name}`, value]));

/**
 * Configs of rate-limiting in files dumped from Kong 3.8 and 3.9 (both spellings), from older versions (the deprecated
 * spelling) and from newer versions (the current spelling).
 */
export const rateLimits: readonly (readonly [what: string, config: object])[] = [
  ["both spellings of its Redis fields", { minute: 5, policy: "redis", redis, ...former }],
  [
    "both spellings of its Redis fields without a host",
    { minute: 5, redis: { port: 6379 }, redis_host: null, redis_port: 6379 },
  ],
  ["the deprecated spelling of its Redis fields", { minute: 5, policy: "redis", ...former }],
  ["one deprecated Redis field", { minute: 5, policy: "redis", redis_host: "redis.example.test" }],
  ["the current spelling of its Redis fields", { minute: 5, policy: "redis", redis }],
];

const list = <T>(length: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length }, (_, index) => make(index));

/**
 * A file with any number of services: two routes and three plugins per service, and half as many consumers as services,
 * each with a key. A thousand services make 7,000 entities.
 */
export function fileOfSize(services: number): KongFile {
  return {
    _format_version: "3.0",
    services: list(services, (index) => ({
      name: `service-${index}`,
      host: `host-${index % 50}.test`,
      port: 8080,
      path: `/base/${index}`,
      ...(index % 3 === 0 ? { tags: ["third", `team-${index % 7}`] } : {}),
      routes: list(2, (which) => routeOf(index, which)),
      plugins: [kongPlugin("key-auth", { key_names: ["apikey", "x-key"] })],
    })),
    consumers: list(Math.floor(services / 2), (index) => ({
      username: `consumer ${index}@test`,
      custom_id: `custom-${index}`,
      keyauth_credentials: [{ key: `key-of-consumer-${index}` }],
    })),
  };
}

function routeOf(service: number, which: number): KongEntity {
  const name = `route-${service}-${which}`;
  return which === 0
    ? {
        name,
        paths: [`/${service}`],
        methods: ["GET", "POST"],
        plugins: [kongPlugin("rate-limiting", { minute: 60 + service, limit_by: "ip" })],
      }
    : {
        name,
        hosts: [`${service}.example.test`],
        paths: [`~/v${service}/(?<id>\\d+)$`],
        strip_path: false,
        plugins: [kongPlugin("cors", { origins: [`https://${service}.example.test`] })],
      };
}

/** The number of entities of each kind in a file, including nested ones. */
export function countEntities(file: KongFile): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  const add = (entities: object) => {
    for (const [name, members] of Object.entries(entities)) {
      if (!Array.isArray(members) || !collections.has(name)) continue;
      // The CA certificates of a service are ids.
      const below = members.filter((member) => typeof member === "object");
      counts[name] = (counts[name] ?? 0) + below.length;
      for (const member of below) add(member);
    }
  };
  add(file);
  return counts;
}

const collections = new Set([
  "services",
  "routes",
  "plugins",
  "consumers",
  "consumer_groups",
  "vaults",
  "groups",
  "keyauth_credentials",
  "acls",
  "basicauth_credentials",
  "hmacauth_credentials",
  "jwt_secrets",
  "mtls_auth_credentials",
  "upstreams",
  "targets",
  "certificates",
  "ca_certificates",
  "snis",
]);

/**
 * The same content in a canonical form: entities sorted by their JSON, members by name, without empty objects and
 * lists.
 */
export function withSortedMembers(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(withSortedMembers);
    const ofEntities = items.some((item) => typeof item === "object");
    return ofEntities ? items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, withSortedMembers(member)] as const);
  const filled = members.filter(([, member]) => typeof member !== "object" || member === null || !isEmpty(member));
  return Object.fromEntries(filled.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;
