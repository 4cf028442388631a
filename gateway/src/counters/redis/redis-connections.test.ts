import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filledRateLimiting } from "../../../../test/plugins/filled-configs.ts";
import { destinationOf, type RedisConfig, redisOptions } from "./redis-connections.ts";

const variants: readonly [string, Partial<RedisConfig>, Readonly<Record<string, unknown>>][] = [
  ["a user name without a password", { username: "u" }, { username: undefined, password: undefined }],
  ["only a password", { password: "p" }, { username: undefined, password: "p" }],
  ["a user name and a password", { username: "u", password: "p" }, { username: "u", password: "p" }],
  ["a database", { database: 3 }, { db: 3 }],
  ["a timeout", { timeout: 70 }, { connectTimeout: 70, commandTimeout: 70, socketTimeout: 70 }],
];

const redisTest = { host: "redis.test", port: 6379 };
const destinations: readonly [string, Partial<RedisConfig>, ReturnType<typeof destinationOf>][] = [
  ["without TLS", { server_name: "r.test" }, redisTest],
  [
    "with unverified TLS",
    { ssl: true },
    { ...redisTest, tls: { rejectUnauthorized: false, servername: "redis.test" } },
  ],
  [
    "with verified TLS",
    { ssl: true, ssl_verify: true },
    { ...redisTest, tls: { rejectUnauthorized: true, servername: "redis.test" } },
  ],
  [
    "with TLS and the configured server name",
    { ssl: true, server_name: "r.test" },
    { ...redisTest, tls: { rejectUnauthorized: false, servername: "r.test" } },
  ],
  [
    "with TLS and no server name if the host is an address",
    { ssl: true, host: "192.0.2.1" },
    { host: "192.0.2.1", port: 6379, tls: { rejectUnauthorized: false } },
  ],
];

describe("destinationOf", () => {
  for (const [how, members, expected] of destinations) {
    it(`returns a destination ${how}`, () => {
      assert.deepEqual(destinationOf({ ...filledRateLimiting.redis, host: "redis.test", ...members }), expected);
    });
  }
});

describe("redisOptions", () => {
  for (const [what, members, expected] of variants) {
    it(`returns the options for a config with ${what}`, () => {
      const options = redisOptions({ ...filledRateLimiting.redis, host: "redis.test", ...members });
      for (const [name, value] of Object.entries(expected)) {
        assert.deepEqual(options[name as keyof typeof options], value, name);
      }
    });
  }

  it("returns options with which a command is never sent twice, and never queued for an unreachable server", () => {
    const options = redisOptions({ ...filledRateLimiting.redis, host: "redis.test" });
    assert.equal(options.autoResendUnfulfilledCommands, false);
    assert.equal(options.enableOfflineQueue, false);
  });
});
