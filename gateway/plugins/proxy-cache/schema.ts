/** Config of proxy-cache: which responses are cached, and where. */
import {
  array,
  boolean,
  choice,
  conditionalViolations,
  definePluginFacts,
  integer,
  isEmptyValue,
  isRecord,
  nullable,
  record,
  redisServer,
  type Static,
  text,
} from "@sluice/plugin-sdk";

const name = (what: string) => text({ description: what, maxLength: 256 });

const schema = record(
  {
    response_code: array(integer({ description: "A status.", minimum: 100, maximum: 900 }), {
      description:
        "Statuses of responses that are cached. 206, 304, 412 and 416 are never cached, because they depend on " +
        "conditions of one request; responses without a body (204) are not cached either.",
      default: [200, 301, 404],
      minItems: 1,
      maxItems: 100,
    }),
    request_method: array(choice(["HEAD", "GET", "POST", "PATCH", "PUT"], { description: "A method." }), {
      description:
        "Methods of requests whose responses are cached. For POST, PATCH and PUT the request's body, of at most 1 MiB, " +
        "is part of the cache key. GET and HEAD with a body are not cached.",
      default: ["GET", "HEAD"],
      maxItems: 100,
    }),
    content_type: array(name("A media type."), {
      description:
        "Media types of responses that are cached. Type and subtype may be `*`. The parameters must be the same, so " +
        "`application/json` does not match `application/json; charset=utf-8`.",
      default: ["text/plain", "application/json"],
      maxItems: 100,
    }),
    cache_ttl: integer({
      description: "Seconds for which a cached response is used. Has no effect with cache_control.",
      default: 300,
      exclusiveMinimum: 0,
    }),
    strategy: choice(["memory", "redis"], {
      description:
        "Where responses are kept: memory (in each worker of each node, within SLUICE_PLUGIN_CACHE_MEMORY) or redis " +
        "(shared by all nodes).",
    }),
    cache_control: boolean({
      description:
        "Follow the Cache-Control headers of requests and responses (RFC 9111). If false, cache_ttl applies to all " +
        "responses, even to those with `no-store` or `private`.",
      default: false,
    }),
    ignore_uri_case: boolean({
      description: "Whether paths that differ only in upper and lower case share a cached response.",
      default: false,
    }),
    storage_ttl: nullable(
      integer({
        description:
          "Seconds for which responses are kept, even if they are fresh for a shorter time. Unset: as long as they " +
          "are fresh. 0 or less: nothing is stored.",
      }),
    ),
    memory: record(
      {
        dictionary_name: text({
          description: "Accepted for compatibility with Kong. Sluice has no dictionaries.",
          default: "kong_db_cache",
          maxLength: 256,
        }),
      },
      { description: "Settings of strategy memory.", default: {} },
    ),
    redis: redisServer("The Redis server for strategy redis."),
    vary_query_params: nullable(
      array(name("A query parameter."), {
        description:
          "Query parameters that are part of the cache key. Unset or empty: all. Others are left out, unless they " +
          "contain `;`, which some upstreams read as a separator.",
        maxItems: 100,
      }),
    ),
    vary_headers: nullable(
      array(text({ description: "A header of the request.", rule: "header-name", maxLength: 256 }), {
        description:
          "Headers of the request that are part of the cache key, after the changes by other plugins. The headers " +
          "listed in the response's Vary header are always part of the key.",
        maxItems: 100,
      }),
    ),
    response_headers: record(
      {
        age: boolean({ description: "Send Age with a cached response.", default: true }),
        "X-Cache-Status": boolean({ description: "Send X-Cache-Status.", default: true }),
        "X-Cache-Key": boolean({ description: "Send X-Cache-Key.", default: true }),
      },
      { description: "Headers that the plugin adds to responses.", default: {} },
    ),
  },
  {
    description:
      "Caches responses of upstreams. `X-Cache-Status` is Hit (from the cache), Miss (stored now), Refresh (the " +
      "cached response was too old, or purged by a mutation of GraphQL) or Bypass (not cached). Bodies of at most 1 MiB are stored, after they have " +
      "arrived completely; longer ones pass unchanged. Responses with Set-Cookie or `Vary: *` are never stored. " +
      "Requests that miss at the same time are all forwarded, and the last response is kept. The admin API shows and " +
      "removes the entries of all nodes, below `/proxy-cache` and `/plugins/{id}/caches`. Of requests that the plugin " +
      "graphql has read, only single queries are cached, and only results without errors. A request with Authorization, " +
      "and a GraphQL query with Cookie, uses the cache only if the gateway has identified the consumer, if " +
      "`vary_headers` names the header, or with `cache_control`.",
  },
);

export type ProxyCacheConfig = Static<typeof schema>;

export const proxyCacheFacts = definePluginFacts({
  name: "proxy-cache",
  version: "0.1.0",
  priority: 100,
  protects: false,
  endpoints: ["caches"],
  schema,
  check: ({ strategy, redis }) =>
    strategy === "redis" && isEmptyValue(isRecord(redis) ? redis.host : null)
      ? conditionalViolations("config.strategy", ["redis", "host"], "required field missing")
      : [],
  kongChecks: [
    {
      conditional: {
        if_field: "config.strategy",
        if_match: { eq: "redis" },
        then_field: "config.redis.host",
        then_match: { required: true },
      },
    },
  ],
});
