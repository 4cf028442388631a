/** Names of values in `Exchange.shared` that plugins of Sluice leave for others. */

/** The cost of the request's GraphQL operations: a whole number of at least 1, as text. */
export const OPERATION_COST = "graphql.cost";

/** The name of the request's first GraphQL operation: one of a limited number, although clients choose the names. */
export const OPERATION_NAME = "graphql.operation";
