/** Names of values in `Exchange.shared` that plugins of Sluice leave for others, and a value that is a function. */
import { ExchangeValues } from "../tools/exchange-values.ts";

/** The cost of the request's GraphQL operations: a whole number of at least 1, as text. */
export const OPERATION_COST = "graphql.cost";

/** The type of the request's only GraphQL operation, such as `query`. Unset for a batch. */
export const OPERATION_TYPE = "graphql.operation.type";

/** The SHA-256 of the document of the request's only GraphQL operation, in hex digits. */
export const DOCUMENT_HASH = "graphql.document.hash";

/**
 * Whether the request is a single GraphQL query, whose result may be cached. False: another GraphQL request. Unset: the
 * request is not known to be one of GraphQL.
 */
export const CACHEABLE_OPERATION = "graphql.cacheable";

/** Set to true once a result has arrived completely and without errors. */
export const CACHEABLE_RESULT = "graphql.ok";

/**
 * Names of GraphQL types, separated by commas: those that the result of a cacheable operation may contain. For another
 * request: what it purges, by names for which proxy-cache counts purges. Only types that the config of the plugin
 * graphql names in `purge`.
 */
export const PURGE_NAMES = "graphql.purge.names";

/**
 * Set once a result has arrived, if its objects are known: names, separated by commas. The result may be used until one
 * of them is purged, instead of the types in `PURGE_NAMES`.
 */
export const RESULT_NAMES = "graphql.result.names";

/** The name of the request's first GraphQL operation: one of a limited number, although clients choose the names. */
export const OPERATION_NAME = "graphql.operation";

/**
 * What the plugin proxy-cache leaves for the plugin graphql, for requests that are not queries: a function that purges
 * the results that depend on one of these names (see `PURGE_NAMES`). With results in memory, they are purged when it
 * returns. Unless the service has executed the mutation (`isExecuted`), the purge is repeated for two minutes. Operations
 * over a WebSocket need it, because they are sent after the response.
 */
export const resultPurges = new ExchangeValues<(names: readonly string[], isExecuted: boolean) => void>();
