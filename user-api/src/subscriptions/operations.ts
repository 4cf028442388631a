/** Runs operations for sockets and event streams, by the same checks as for requests. */
import {
  createSourceEventStream,
  type DocumentNode,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  type OperationDefinitionNode,
  OperationTypeNode,
} from "graphql";
import { failure, type Occasion, present } from "../errors.ts";
import type { Consumer } from "../policy/consumer.ts";
import type { Feed } from "./feed.ts";
import type { Receiver } from "./receiver.ts";

/** What a client asks for: its shape is checked, nothing else. */
export interface OperationRequest {
  readonly query: string;
  readonly operationName?: string | null | undefined;
  readonly variables?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Who asks for it. */
export interface Caller extends Occasion {
  readonly consumer: Consumer | null;
  /** Whether the request's method promises to change nothing. */
  readonly safe?: boolean;
}

export interface Operations {
  /** Begins an operation. The receiver hears of its end exactly once, unless it is stopped before by what is returned. */
  begin(request: OperationRequest, caller: Caller, receiver: Receiver): () => void;
  /** Resolves when nothing is under way but subscriptions, and those have sent what they were told of. */
  settled(): Promise<void>;
}

/** An operation that may be executed. */
export interface Checked {
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
}

export interface OperationsOptions {
  readonly schema: GraphQLSchema;
  readonly feed: Feed;
  /** The operation that is asked for, or everything that is wrong with it. */
  readonly check: (request: OperationRequest) => Checked | { readonly errors: readonly GraphQLError[] };
  /** Executes a query or a mutation, as a request would. */
  readonly execute: (request: OperationRequest, caller: Caller) => Promise<FormattedExecutionResult>;
  /** The resolvers' context. `event` is the same object for all who are told of one event. */
  readonly contextOf: (caller: Caller, event: object) => object;
}

const formatted = (errors: readonly GraphQLError[], caller: Caller): readonly GraphQLFormattedError[] =>
  errors.map((error) => present(error, caller));

/** A fault as GraphQL errors. mercurius throws one error that carries all that validation has found. */
function errorsIn(fault: unknown): readonly GraphQLError[] {
  if (fault instanceof GraphQLError) return [fault];
  if (typeof fault === "object" && fault !== null && "errors" in fault && Array.isArray(fault.errors)) {
    return fault.errors.flatMap(errorsIn);
  }
  const originalError = fault instanceof Error ? fault : new Error(String(fault));
  return [new GraphQLError(originalError.message, { originalError })];
}

export function makeOperations({ schema, feed, check, execute, contextOf }: OperationsOptions): Operations {
  const single = new Set<Promise<void>>();

  /** Whether the subscription may begin: its variables fit and its resolver has no objection. */
  async function refusalOf(request: OperationRequest, caller: Caller, document: DocumentNode) {
    const stream = await createSourceEventStream({
      schema,
      document,
      contextValue: contextOf(caller, {}),
      variableValues: request.variables ?? undefined,
      operationName: request.operationName ?? undefined,
    });
    return "errors" in stream ? (stream.errors ?? []) : null;
  }

  return {
    begin(request, caller, receiver) {
      let over = false;
      let unfollow = (): void => undefined;

      async function follow(document: DocumentNode): Promise<void> {
        const refusal = await refusalOf(request, caller, document);
        if (over) return;
        if (refusal !== null) {
          receiver.fail(formatted(refusal, caller));
          return;
        }
        const { query, operationName, variables } = request;
        unfollow = feed.follow(
          {
            document,
            operationName: operationName ?? undefined,
            variables: variables ?? undefined,
            key: JSON.stringify([query, operationName, variables, caller.consumer]),
            contextOf: (event) => contextOf(caller, event),
          },
          receiver,
        );
      }

      async function run(): Promise<void> {
        const checked = check(request);
        if ("errors" in checked) {
          receiver.fail(formatted(checked.errors, caller));
          return;
        }
        const { document, node } = checked;
        if (node.operation === OperationTypeNode.SUBSCRIPTION) {
          await follow(document);
          return;
        }
        if (node.operation === OperationTypeNode.MUTATION && caller.safe) {
          throw failure("BAD_REQUEST", "Mutations are not executed by GET");
        }
        const result = await execute(request, caller);
        if (over) return;
        receiver.next(JSON.stringify(result));
        receiver.complete();
      }

      const running = run().catch((fault: unknown) => {
        if (!over) receiver.fail(formatted(errorsIn(fault), caller));
      });
      single.add(running);
      void running.finally(() => single.delete(running));
      return () => {
        over = true;
        unfollow();
      };
    },

    async settled() {
      await Promise.all(single);
      await feed.settled();
    },
  };
}
