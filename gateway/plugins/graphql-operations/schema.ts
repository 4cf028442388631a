/** Config of graphql-operations: limits of the bytes that it reads and of the names that it counts. */
import { definePluginFacts, integer, record } from "@sluice/plugin-sdk";

const schema = record(
  {
    max_operations: integer({
      description:
        "Maximum number of operation names that each worker counts separately. The number is limited because clients " +
        "choose the names: operations with further names are counted together as `(other)`. A name that has not been " +
        "used for an hour makes room for another.",
      default: 200,
      minimum: 1,
      maximum: 1000,
    }),
    max_body_size: integer({
      description:
        "Maximum size of a request's body in bytes. The body is read before the request is forwarded. A larger body " +
        "is streamed, and its operation is counted as `(unknown)`. A GraphQL document with more than 16,384 " +
        "characters is not read: its operation is counted under `operationName`.",
      default: 131_072,
      minimum: 1,
      maximum: 1_048_576,
    }),
    max_response_size: integer({
      description:
        "Number of bytes of a JSON response that are searched for errors while it streams to the client. Errors " +
        "after these bytes are not found. With 0, an operation has failed only if the status is 400 or above.",
      default: 262_144,
      minimum: 0,
      maximum: 16_777_216,
    }),
  },
  {
    description:
      "Counts the requests of GraphQL services by operation, with errors and latencies. The console, `sluice top --by " +
      "operations` and `GET /traffic?by=operations` show the last ten seconds; `/metrics` has the totals for " +
      "Prometheus. The plugin changes neither requests nor responses. Attach it to GraphQL services only: every other " +
      "POST request is counted as `(unknown)`.",
  },
);

export const graphqlOperationsFacts = definePluginFacts({
  name: "graphql-operations",
  version: "0.1.0",
  // After the plugins that refuse requests, so that no body of a refused request is read, and before proxy-cache, so
  // that responses from the cache are counted.
  priority: 110,
  protects: false,
  schema,
});
