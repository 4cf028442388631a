/** Config of graphql-operations: the limits of what it reads and names. */
import { definePluginFacts, integer, record } from "@sluice/plugin-sdk";

const schema = record(
  {
    max_operations: integer({
      description:
        "Maximum number of operation names that a worker counts separately, because clients choose the names. " +
        "Operations with further names are counted together as `(other)`. A name that was not used for an hour " +
        "makes room for another.",
      default: 200,
      minimum: 1,
      maximum: 1000,
    }),
    max_body_size: integer({
      description:
        "Maximum bytes of a request's body. A body is read before the request is forwarded. A longer body streams, " +
        "and its operation is counted as `(unknown)`. A document with more than 16,384 characters is not read: its " +
        "operation is counted under `operationName`.",
      default: 131_072,
      minimum: 1,
      maximum: 1_048_576,
    }),
    max_response_size: integer({
      description:
        "Maximum bytes of a JSON response in which errors are looked for while it streams to the client. Errors after " +
        "that are not counted. With 0, only the status counts.",
      default: 262_144,
      minimum: 0,
      maximum: 16_777_216,
    }),
  },
  {
    description:
      "Counts the requests of GraphQL services by operation, with errors and latencies. The counts of the last seconds " +
      "are in the console, in `sluice top --by operations` and in `GET /traffic?by=operations`; Prometheus reads the " +
      "totals. Requests and responses stay as they are. Attach the plugin to GraphQL services only: all other requests " +
      "with POST are counted as `(unknown)`.",
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
