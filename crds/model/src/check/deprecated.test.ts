import assert from "node:assert/strict";
import { test } from "node:test";
import { withDeprecated } from "./deprecated.ts";
import { checkConfig } from "./index.ts";

const check = (config: object) => checkConfig("rate-limiting", { minute: 1, ...config });

const taken: readonly (readonly [what: string, config: object, redis: object])[] = [
  [
    "all deprecated members, whose names begin with redis_",
    {
      policy: "redis",
      redis_host: "r.example",
      redis_port: 7000,
      redis_username: "u",
      redis_password: "p",
      redis_database: 1,
      redis_timeout: 1100,
      redis_ssl: true,
      redis_ssl_verify: true,
      redis_server_name: "r.example",
    },
    {
      host: "r.example",
      port: 7000,
      timeout: 1100,
      username: "u",
      password: "p",
      database: 1,
      ssl: true,
      ssl_verify: true,
      server_name: "r.example",
    },
  ],
  [
    "a deprecated member together with other members of the record redis",
    { redis_port: 1, redis: { host: "a.example" } },
    { host: "a.example", port: 1 },
  ],
  ["the same value in both spellings", { redis_port: 1, redis: { port: 1 } }, { port: 1 }],
  ["null, which keeps the value of the current member", { redis_port: null, redis: { port: 1 } }, { port: 1 }],
  ["a value, which replaces null of the current member", { redis_port: 1, redis: { port: null } }, { port: 1 }],
  ["null in both spellings, which means the default", { redis_port: null, redis: null }, { port: 6379 }],
];

for (const [what, config, redis] of taken) {
  test(`checkConfig accepts deprecated members: ${what}`, () => {
    const { value, violations } = check(config);
    assert.deepEqual(violations, undefined);
    assert.partialDeepStrictEqual(value?.redis, redis);
  });
}

const MISMATCH = "both deprecated and new field are used but their values mismatch:";
const refused: readonly (readonly [what: string, config: object, faults: readonly string[]])[] = [
  [
    "different values of a deprecated member and its replacement",
    { redis_host: "a.example", redis: { host: "b.example" } },
    [`redis_host: ${MISMATCH} redis_host = a.example vs redis.host = b.example`],
  ],
  [
    "true for a deprecated member and false for its replacement",
    { redis_ssl: true, redis: { ssl: false } },
    [`redis_ssl: ${MISMATCH} redis_ssl = true vs redis.ssl = false`],
  ],
  [
    "different passwords in both spellings, without revealing them",
    { redis_password: "a", redis: { password: "b" } },
    [`redis_password: ${MISMATCH} redis_password vs redis.password`],
  ],
  ["a deprecated member with a value of the wrong type", { redis_port: "1" }, ["redis_port: expected an integer"]],
  [
    "a deprecated member with a value that its replacement does not accept",
    { redis_port: 70_000 },
    ["redis_port: value should be between 0 and 65535"],
  ],
  ["a value of redis that is not a record", { redis_port: 1, redis: "x" }, ["redis: expected a record"]],
  ["an unknown member that is named like a deprecated one", { redis_keepalive: 1 }, ["redis_keepalive: unknown field"]],
];

for (const [what, config, faults] of refused) {
  test(`checkConfig refuses ${what}`, () => {
    const { violations = [] } = check(config);
    assert.deepEqual(
      violations.map(({ path, message }) => `${path.join(".")}: ${message}`),
      faults,
    );
  });
}

test("withDeprecated shows every deprecated member in addition to its replacement", () => {
  const { value } = check({ redis: { port: 1 } });
  const { redis, ...shown } = withDeprecated("rate-limiting", (value ?? {}) as unknown as Record<string, unknown>);
  const flat = Object.entries(shown).filter(([name]) => name.startsWith("redis_"));
  assert.deepEqual(Object.fromEntries(flat.map(([name, one]) => [name.replace("redis_", ""), one])), redis);
});

test("withDeprecated changes neither configs of plugins without deprecated members nor configs without filled-in defaults", () => {
  for (const [plugin, config] of [
    ["cors", { origins: null }],
    ["oauth2", { redis: { host: "a" } }],
    ["rate-limiting", {}],
  ] as const)
    assert.equal(withDeprecated(plugin, config), config);
});
