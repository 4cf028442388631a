import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filledRateLimiting } from "../testing-configs.ts";
import { type RedisConfig, redisOptions } from "./redis-connections.ts";

const variants: readonly [string, Partial<RedisConfig>, Readonly<Record<string, unknown>>][] = [
  ["no password", { username: "u" }, { username: undefined, password: undefined, tls: undefined }],
  ["a password alone", { password: "p" }, { username: undefined, password: "p" }],
  ["a user name and a password", { username: "u", password: "p" }, { username: "u", password: "p" }],
  ["a database", { database: 3 }, { db: 3 }],
  ["a timeout", { timeout: 70 }, { connectTimeout: 70, commandTimeout: 70, socketTimeout: 70 }],
  ["TLS unverified", { ssl: true }, { tls: { rejectUnauthorized: false, servername: "redis.test" } }],
  ["TLS verified", { ssl: true, ssl_verify: true }, { tls: { rejectUnauthorized: true, servername: "redis.test" } }],
  ["a server name", { ssl: true, server_name: "r.test" }, { tls: { rejectUnauthorized: false, servername: "r.test" } }],
  ["TLS to an address", { ssl: true, host: "192.0.2.1" }, { tls: { rejectUnauthorized: false } }],
];

describe("redisOptions", () => {
  for (const [what, members, expected] of variants) {
    it(`connects as the config says with ${what}`, () => {
      const options = redisOptions({ ...filledRateLimiting.redis, host: "redis.test", ...members });
      for (const [name, value] of Object.entries(expected)) {
        assert.deepEqual(options[name as keyof typeof options], value, name);
      }
    });
  }

  it("never sends a count twice and never queues one for a server that is away", () => {
    const options = redisOptions({ ...filledRateLimiting.redis, host: "redis.test" });
    assert.equal(options.autoResendUnfulfilledCommands, false);
    assert.equal(options.enableOfflineQueue, false);
  });
});
