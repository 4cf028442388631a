/**
 * Checks the operations of HTTP requests, WebSockets and event streams. Executes a query or mutation once, and a
 * subscription once for each event.
 */
import {
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
} from "graphql";
import { makePostLoader } from "../directory/post-loader.ts";
import type { Context, CreatedUser } from "../directory/resolvers.ts";
import { asGraphqlError, type ErrorContext, errorCodesOf, formatError } from "../errors.ts";
import type { CheckDocument, Operation, RefusedDocument } from "../limits/documents.ts";
import type { Variables } from "../limits/measures.ts";
import { makeTimeLimit } from "../limits/time-limit.ts";
import type { Metrics } from "../operations/metrics.ts";
import type { Consumer } from "../policy/caller.ts";
import type { UserStore } from "../store/store.ts";
import { makeRecurringExecutor } from "./recurring-queries.ts";

/** A checked operation with the values of its variables. */
export interface RequestedOperation {
  readonly operation: Operation;
  readonly variables: Variables;
}

/** The result of an executed operation, as it is sent. */
export interface ExecutedResult {
  readonly errors?: readonly GraphQLFormattedError[] | undefined;
  readonly data: ExecutionResult["data"];
}

export type Executor = ReturnType<typeof makeExecutor>;

export interface ExecutorOptions {
  readonly schema: GraphQLSchema;
  /** Executes a query or mutation with mercurius. */
  readonly graphql: (
    source: string,
    context: Record<string, unknown>,
    variables: Variables,
    operationName: string | undefined,
  ) => Promise<ExecutionResult>;
  readonly check: CheckDocument;
  readonly store: Pick<UserStore, "postsOf">;
  readonly metrics: Metrics;
  readonly milliseconds: number;
}

export function makeExecutor({ schema, graphql, check, store, metrics, milliseconds }: ExecutorOptions) {
  const limitTime = makeTimeLimit(milliseconds);
  const executeRecurring = makeRecurringExecutor(schema);
  const contextOf = (consumer: Consumer | null): Context => ({ consumer, ...makePostLoader(store) });

  const run = ({ operation: { source, node }, variables }: RequestedOperation, consumer: Consumer | null) =>
    graphql(source, { ...contextOf(consumer) }, variables, node.name?.value).catch(refusedVariables);

  const deliver = async (
    { operation: { document, node }, variables }: RequestedOperation,
    consumer: Consumer | null,
    rootValue: CreatedUser,
  ): Promise<ExecutionResult> =>
    execute({
      schema,
      document,
      rootValue,
      contextValue: contextOf(consumer),
      variableValues: variables,
      operationName: node.name?.value,
    });

  return {
    schema,
    metrics,
    check,
    contextOf,
    /**
     * Executes a query or a mutation. If the variables are missing or invalid, executes nothing and resolves to errors
     * without data. Rejects with TIMEOUT.
     */
    execute(
      requested: RequestedOperation,
      consumer: Consumer | null,
      errorContext: ErrorContext,
    ): Promise<ExecutedResult | RefusedDocument> {
      const began = performance.now();
      const { operation, variables } = requested;
      const planned = executeRecurring(operation, { variables, context: () => contextOf(consumer) });
      const seconds = () => (performance.now() - began) / 1_000;
      return limitTime(planned ?? run(requested, consumer)).then(
        ({ data, errors }) => {
          // A variable was missing or invalid, and nothing has been executed.
          if (data === undefined) return { errors: errors ?? [] };
          const presented = errors?.map((error) => formatError(error, errorContext));
          metrics.recordExecution(operation, seconds(), errorCodesOf(presented));
          return presented === undefined ? { data } : { errors: presented, data };
        },
        (error: unknown) => {
          metrics.recordRejection(operation, seconds());
          throw error;
        },
      );
    },
    /** Executes a subscription for one event. Rejects with TIMEOUT. */
    executeEvent: (requested: RequestedOperation, consumer: Consumer | null, event: CreatedUser) =>
      limitTime(deliver(requested, consumer, event)),
    /** The errors of an operation that was not executed or took too long, as they are sent. Counts them. */
    refuse(errors: readonly GraphQLError[], errorContext: ErrorContext): readonly GraphQLFormattedError[] {
      const presented = errors.map((error) => formatError(error, errorContext));
      metrics.refused(errorCodesOf(presented));
      return presented;
    },
  };
}

/**
 * The errors of the variables as a result, which is the form in which graphql-js reports them. mercurius instead
 * rejects with one error that carries them. Any other error is thrown again.
 */
function refusedVariables(error: unknown): ExecutionResult {
  if (error instanceof Error && "errors" in error && Array.isArray(error.errors)) {
    return { errors: error.errors.map(asGraphqlError) };
  }
  throw error;
}
