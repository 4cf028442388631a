/** The config record of plugins that keep data in Redis. */
import { boolean, integer, nullable, record, type Static, text } from "./member.ts";

/** The schema of a record whose valid values have the type `RedisServer`. */
export const redisServer = (description: string) =>
  record(
    {
      host: nullable(text({ description: "Host name or address of Redis.", rule: "host", maxLength: 255 })),
      port: integer({ description: "Port of Redis.", default: 6379, minimum: 0, maximum: 65_535 }),
      timeout: integer({
        description: "Timeout of Redis in milliseconds.",
        default: 2000,
        minimum: 0,
        maximum: 2 ** 31 - 2,
      }),
      username: nullable(
        text({ description: "User name, for Redis 6 and later.", maxLength: 512, referenceable: true }),
      ),
      password: nullable(
        text({
          description: "Password. In custom resources prefer configFrom, which reads it from a Secret.",
          minLength: 0,
          maxLength: 512,
          secret: true,
          referenceable: true,
        }),
      ),
      database: integer({ description: "Database number.", default: 0, minimum: 0, maximum: 1_000_000 }),
      ssl: boolean({ description: "Connect over TLS.", default: false }),
      ssl_verify: boolean({ description: "Verify the certificate of Redis.", default: false }),
      server_name: nullable(text({ description: "Server name for TLS.", rule: "sni", maxLength: 255 })),
    },
    { description, default: {} },
  );

/**
 * Members of `redis` that were members of the config itself before Kong 3.8, with the prefix `redis_`. Files dumped
 * from Kong 3.9 have both forms.
 */
const formerRedis = [
  "host",
  "port",
  "password",
  "username",
  "ssl",
  "ssl_verify",
  "server_name",
  "timeout",
  "database",
] as const satisfies readonly (keyof Static<ReturnType<typeof redisServer>>)[];

/** The former members of a config with the member `redis`. */
export const deprecatedRedisMembers = formerRedis.map((name) => ({
  name: `redis_${name}`,
  replacedBy: ["redis", name],
}));
