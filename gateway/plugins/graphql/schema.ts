/** Config of graphql: limits of documents and requests, and of the names that are counted. */
import {
  array,
  boolean,
  choice,
  definePluginFacts,
  integer,
  isRecord,
  mapping,
  nullable,
  plainEndpointViolations,
  type RecordRule,
  record,
  type Static,
  set,
  text,
  type Violation,
} from "@sluice/plugin-sdk";
import type { GraphQLError } from "graphql/error/GraphQLError.js";
import { readServiceSchema } from "./cost/service-schema.ts";
import { MAX_COST } from "./cost/static-cost.ts";
import type { PurgeRule } from "./purge/purge-rules.ts";
import { manifestViolation } from "./trusted-documents.ts";

/** GraphQL, October 2021, section 2.1.9. */
const NAME = /^[_a-z]\w*$/i;
/** Maximum characters of the schema of a service and of a manifest: a whole config has no more. */
const MAX_TEXT = 65_536;

const schema = record(
  {
    enforce: boolean({
      description:
        "Whether requests beyond the limits, and requests that cannot be read, are refused. If false, all requests are " +
        "forwarded; the metric `sluice_graphql_refused_total` and log records show what would have been refused.",
      default: true,
    }),
    max_depth: integer({
      description:
        "Maximum depth of nested selection sets. The introspection query of the usual tools has a depth of 15.",
      default: 20,
      minimum: 1,
      maximum: 200,
    }),
    max_fields: integer({
      description:
        "Maximum number of fields that an operation selects. The fields of a fragment count wherever it is spread, so " +
        "that fragments which spread each other cannot multiply the work of the service.",
      default: 1000,
      minimum: 1,
      maximum: 1_000_000,
    }),
    max_root_fields: integer({
      description: "Maximum number of fields on the first level of an operation, including those of fragments.",
      default: 20,
      minimum: 1,
      maximum: 10_000,
    }),
    max_aliases: integer({
      description: "Maximum number of aliases in an operation, including those of fragments.",
      default: 30,
      minimum: 0,
      maximum: 10_000,
    }),
    max_directives: integer({
      description: "Maximum number of directives in an operation, including those of fragments.",
      default: 50,
      minimum: 0,
      maximum: 10_000,
    }),
    max_tokens: integer({
      description: "Maximum number of tokens in a document: names, values and punctuation.",
      default: 2000,
      minimum: 10,
      maximum: 20_000,
    }),
    max_document_length: integer({
      description: "Maximum number of characters in a document, with comments and spaces.",
      default: 16_384,
      minimum: 100,
      maximum: 262_144,
    }),
    max_batch_size: integer({
      description: "Maximum number of operations in one request; 1 refuses batches of several operations.",
      default: 10,
      minimum: 1,
      maximum: 100,
    }),
    schema: nullable(
      text({
        description:
          "The schema of the service in the schema definition language, from which the cost of operations is computed. " +
          "An object in a result costs 1, scalars and enums nothing, and a mutation 10 in addition; a list multiplies the " +
          "cost of its items by its size. The directive `@cost(weight:)` changes the cost of a field, a type or an " +
          "argument, and `@listSize(assumedSize:, slicingArguments:, sizedFields:)` the size of lists. Without a schema, " +
          "each field with subfields costs 1.",
        maxLength: MAX_TEXT,
      }),
    ),
    introspect: nullable(
      record(
        {
          url: text({
            description: "URL of the GraphQL service. Nodes connect to it under the same rules as to upstreams.",
            maxLength: 4096,
          }),
          headers: nullable(
            mapping(
              text({ description: "The value of the header.", minLength: 0, maxLength: 8192, referenceable: true }),
              {
                description: "Headers of the introspection query, such as Authorization.",
                keyRule: "header-name",
                maxProperties: 16,
              },
            ),
          ),
          ttl: integer({
            description: "Seconds after which the service is asked again. Until it answers, the known schema applies.",
            default: 300,
            minimum: 5,
            maximum: 86_400,
          }),
          timeout: integer({
            description: "Milliseconds within which the response must arrive. It may have 4 MiB.",
            default: 5000,
            minimum: 1,
            maximum: 60_000,
          }),
          tls_verify: boolean({ description: "Whether the certificate of the service is verified.", default: true }),
        },
        {
          description:
            "Reads the schema from the service itself, by an introspection query of each worker. Requests wait for the " +
            "first response, for at most `timeout`. While the schema is not known afterwards, they are answered with 503. " +
            "With `enforce: false` they do not wait, and are forwarded. When the config of the plugin changes, the schema " +
            "is read anew. Introspection does not show directives: set them with `schema`, whose fields then replace those of " +
            "the service.",
        },
      ),
    ),
    max_cost: nullable(
      integer({
        description: "Maximum cost of an operation. Unset: any cost.",
        minimum: 1,
        maximum: MAX_COST,
      }),
    ),
    list_size: integer({
      description: "The size of a list that no argument limits and that has no `@listSize`.",
      default: 10,
      minimum: 1,
      maximum: 1_000_000,
    }),
    slicing_arguments: set(text({ description: "Name of an argument.", maxLength: 128 }), {
      description:
        "Names of arguments that limit the size of a list, for fields without `@listSize`. If the field returns an " +
        "object with the fields `edges` and `nodes`, they have that size.",
      default: ["first", "last", "limit"],
      maxItems: 16,
    }),
    trusted_documents: nullable(
      record(
        {
          manifest: nullable(
            text({
              description:
                "The documents and their ids as JSON: Apollo's persisted query manifest, or an object with the texts by " +
                "their ids, as Relay's compiler writes it.",
              maxLength: MAX_TEXT,
            }),
          ),
          documents: nullable(
            set(text({ description: "Name or id of GraphQL documents.", maxLength: 256 }), {
              description:
                "Names or ids of the entities `graphql_documents` (resources GraphQLDocuments) whose documents are " +
                "trusted, in addition to those of `manifest`. A new manifest takes effect at once. While one of them " +
                "does not exist, the plugin answers requests with 503, unless `mode` is log or `enforce` is false. If " +
                "two of them use one id, the first applies.",
              minItems: 1,
              maxItems: 32,
            }),
          ),
          mode: choice(["require", "log"], {
            description:
              "require: other documents are refused with 403. log: they are forwarded, and show as DOCUMENT_NOT_TRUSTED " +
              "in `sluice_graphql_refused_total` and in log records.",
            default: "require",
          }),
          forward: choice(["document", "id"], {
            description:
              "What the service gets if a request names a trusted document by its id: the document, so that the service " +
              "needs no list of its own, or the id.",
            default: "document",
          }),
        },
        {
          description:
            "The only documents that clients may execute. A request sends such a document as `query`, or names it by " +
            "`extensions.persistedQuery.sha256Hash`, `documentId`, `id` or `doc_id`, where the id is that of the manifest " +
            "or the SHA-256 of the document. The same holds for the URL of a GET request. The limits apply to trusted documents too. Needs no schema.",
        },
      ),
    ),
    purge: nullable(
      array(
        record(
          {
            mutation: text({
              description: "Name of a field of the type of mutations.",
              maxLength: 128,
            }),
            types: set(text({ description: "Name of an object type.", maxLength: 128 }), {
              description:
                "The types that the mutation changes. Every result contains the type of queries, mostly `Query`.",
              minItems: 1,
              maxItems: 32,
            }),
            id: nullable(
              text({
                description:
                  "The argument with the id of the object that the mutation changes, such as `id`, or `input.id` for a " +
                  "member of an input object. Then only results that contain this object are purged, and results whose " +
                  "objects are not known by their ids: the query has to select the field `id` of the types, and no " +
                  "interfaces or unions; a result with more than 100 objects depends on all. Unset, or without such a " +
                  "value in the request: all objects of the types have changed, for example because one was added.",
                maxLength: 256,
              }),
            ),
          },
          { description: "A mutation, and the types that it changes." },
        ),
        {
          description:
            "Mutations after which the plugin proxy-cache of the same routes no longer uses stored results of queries " +
            "that may contain the named types. Which types a result may contain follows from the schema; without one, " +
            "and for interfaces and unions, a result may contain all of them. Requests that are forwarded although " +
            "the plugin cannot tell their operations, because of `unknown_documents: forward` or `enforce: false`, purge " +
            "the types of all rules. If the gateway does not see the end of a mutation, for example because its client " +
            "disconnects, the purge is repeated after 1, 2, 4 and up to 64 seconds. Rules apply to mutations over a WebSocket with `websocket: inspect`; with " +
            "`websocket: forward`, such mutations purge nothing. With `strategy: memory` of proxy-cache, a purge reaches the workers of one node, with redis " +
            "all nodes. Results beyond `max_response_size` are not stored.",
          minItems: 1,
          maxItems: 64,
        },
      ),
    ),
    introspection: boolean({
      description:
        "Whether operations may query the schema (`__schema` and `__type`; `__typename` is always allowed). To allow it " +
        "for some clients only, attach a second instance of the plugin to a consumer or a consumer group.",
      default: false,
    }),
    unknown_documents: choice(["refuse", "forward"], {
      description:
        "Requests that name a document without sending it, by `documentId`, `id`, `doc_id` or " +
        "`extensions.persistedQuery.sha256Hash`, if the worker has not seen the document. refuse: a client with a " +
        "persisted query gets PERSISTED_QUERY_NOT_FOUND and sends the document, as Apollo's clients do; other requests " +
        "get an error. forward: the service decides. Use it if the service accepts only documents that it knows.",
      default: "refuse",
    }),
    websocket: choice(["refuse", "inspect", "forward"], {
      description:
        "Requests to open a WebSocket. refuse: they are refused with 403. inspect: the limits apply to the operations in " +
        "the messages of the protocols `graphql-transport-ws` and `graphql-ws`. A refused operation is answered with a " +
        "message of the type `error`, and invalid messages close the WebSocket with the code 4400. Messages may have " +
        "`max_body_size` bytes in at most 1000 frames, and are not compressed. An operation is counted when it ends, as " +
        "failed if the service reported errors. With `enforce: false`, WebSockets with other protocols are not " +
        "inspected. forward: no limit applies to the messages; use it only if the service has limits of its own.",
      default: "refuse",
    }),
    max_operations: integer({
      description:
        "Maximum number of operation names that each worker counts separately. As many documents are counted " +
        "separately, at most a quarter of them with one name. Both numbers are limited because clients choose names and " +
        "documents: further ones are counted together, with `(other)` as the operation or the hash. A name or document " +
        "that has not been used for an hour makes room for another.",
      default: 200,
      minimum: 1,
      maximum: 1000,
    }),
    max_body_size: integer({
      description: "Maximum size of a request's body in bytes. The body is read before the request is forwarded.",
      default: 131_072,
      minimum: 1,
      maximum: 1_048_576,
    }),
    max_response_size: integer({
      description:
        "Number of bytes of a JSON response that are searched for errors while it streams to the client. Errors after " +
        "these bytes are not found. A response with Content-Encoding is searched if it has at most this size, and at " +
        "most 1 MiB, after decoding (gzip, deflate, br or zstd); encoded event streams are not searched. Events of a " +
        "stream, and messages of the service over a WebSocket, are searched if they have at most this size. With 0, an " +
        "operation has failed only if the status is 400 or above, and an operation over a WebSocket is counted as sent.",
      default: 262_144,
      minimum: 0,
      maximum: 16_777_216,
    }),
  },
  {
    description:
      "Protects GraphQL services: refuses documents beyond limits, introspection, and requests that services read in " +
      "different ways, before the service gets them. Counts the requests that are forwarded by operation, with errors and latencies: the " +
      "console, `sluice top --by operations` and `GET /traffic?by=operations` show the last ten seconds; `/metrics` has " +
      "the totals for Prometheus. The plugin rate-limiting can count the cost of operations, or limit each operation. Attach it to routes of GraphQL services only: it refuses every POST " +
      "request that is not a GraphQL request.",
  },
);

export type GraphqlConfig = Static<typeof schema>;

const check: RecordRule = ({ schema: sdl, introspect, purge, trusted_documents: trusted }) => [
  ...checkSchema(sdl, isRecord(introspect)),
  ...checkUrl(introspect),
  ...checkTrusted(trusted),
  ...checkPurge(purge),
];

function checkTrusted(trusted: unknown): readonly Violation[] {
  if (!isRecord(trusted)) return [];
  const { manifest, documents } = trusted;
  if ((manifest ?? null) === null && (documents ?? null) === null)
    return [{ path: ["trusted_documents"], message: "must set manifest, documents or both" }];
  if (typeof manifest !== "string") return [];
  const message = manifestViolation(manifest);
  return message === null ? [] : [{ path: ["trusted_documents", "manifest"], message }];
}

const checkPurge = (purge: unknown): readonly Violation[] =>
  (Array.isArray(purge) ? purge : []).flatMap((rule, at) => {
    const { mutation, types, id } = Object(rule) as Readonly<Record<keyof PurgeRule, unknown>>;
    return [
      ...nameViolations(mutation, ["purge", at, "mutation"]),
      ...(typeof id === "string" && id.split(".").some((name) => !NAME.test(name))
        ? [{ path: ["purge", at, "id"], message: "must be names of GraphQL, separated by dots, such as input.id" }]
        : []),
      ...(Array.isArray(types) ? types : []).flatMap((type, index) =>
        nameViolations(type, ["purge", at, "types", index]),
      ),
    ];
  });

const nameViolations = (name: unknown, path: Violation["path"]): readonly Violation[] =>
  typeof name === "string" && name !== "" && !NAME.test(name) ? [{ path, message: "must be a name of GraphQL" }] : [];

const checkUrl = (introspect: unknown): readonly Violation[] =>
  isRecord(introspect)
    ? plainEndpointViolations("url", introspect.url).map(({ path, message }) => ({
        path: ["introspect", ...path],
        message,
      }))
    : [];

/** @param isPart Whether the definitions only refine the schema that the service has */
function checkSchema(sdl: unknown, isPart: boolean): readonly Violation[] {
  if (typeof sdl !== "string") return [];
  try {
    const { types, roots } = readServiceSchema(sdl);
    if (isPart || types.has(roots.query)) return [];
    return [{ path: ["schema"], message: `the schema does not define the type ${roots.query}` }];
  } catch (error) {
    return [{ path: ["schema"], message: positioned(error as GraphQLError) }];
  }
}

const positioned = ({ message, locations = [] }: GraphQLError): string =>
  [...locations.map(({ line, column }) => `line ${line}, column ${column}: `), message].join("");

export const graphqlFacts = definePluginFacts({
  name: "graphql",
  version: "0.1.0",
  // After the plugins that authenticate clients, so that no document of an unknown client is read, and before
  // rate-limiting, which counts by operation.
  priority: 912,
  protects: true,
  check,
  schema,
});
