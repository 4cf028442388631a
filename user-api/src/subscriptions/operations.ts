/** Runs operations for sockets and event streams, by the same checks as for requests. */
import {
  createSourceEventStream,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  OperationTypeNode,
} from "graphql";
import { failure, type Occasion, present } from "../errors.ts";
import { UnderWay } from "../execution/under-way.ts";
import type { Variables } from "../limits/cost.ts";
import type { Ask, Documents, Operation } from "../limits/documents.ts";
import type { Consumer } from "../policy/consumer.ts";
import type { Feed } from "./feed.ts";
import type { Receiver } from "./receiver.ts";

/** Who asks for an operation. */
export interface Caller extends Occasion {
  readonly consumer: Consumer | null;
  /** Whether the request's method promises to change nothing. */
  readonly safe?: boolean;
  /** Counts an operation against the client's rate; null: it may begin. Absent where a request was counted for it. */
  readonly count?: () => Promise<GraphQLError | null>;
}

export interface Operations {
  /** Begins an operation, or tells why what was sent asks for none. The receiver hears of its end exactly once, unless it is stopped before by what is returned. */
  begin(ask: Ask | GraphQLError, caller: Caller, receiver: Receiver): () => void;
  /** Resolves when nothing is under way but subscriptions, and those have sent what they were told of. */
  settled(): Promise<void>;
}

/** A checked operation and what goes with it. */
export interface Asked {
  readonly operation: Operation;
  readonly variables: Variables | undefined;
  readonly operationName: string | undefined;
}

export interface OperationsOptions {
  readonly schema: GraphQLSchema;
  readonly feed: Feed;
  /** The operation that is asked for, or everything that is wrong with it. */
  readonly check: Documents["valid"];
  /** Executes a query or a mutation, as a request would. */
  readonly execute: (operation: Asked, caller: Caller) => Promise<FormattedExecutionResult>;
  /** Told of each subscription that begins, or with the errors why it does not. */
  readonly onFollow: (operation: Operation, errors: readonly GraphQLFormattedError[]) => void;
  /** The resolvers' context, new for each execution. */
  readonly contextOf: (caller: Caller) => object;
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

export function makeOperations({ schema, feed, check, execute, onFollow, contextOf }: OperationsOptions): Operations {
  const single = new UnderWay();

  /** Whether the subscription may begin: its variables fit and its resolver has no objection. */
  async function refusalOf({ operation, variables, operationName }: Asked, caller: Caller) {
    const stream = await createSourceEventStream({
      schema,
      document: operation.document,
      contextValue: contextOf(caller),
      variableValues: variables,
      operationName,
    });
    return "errors" in stream ? (stream.errors ?? []) : null;
  }

  return {
    begin(ask, caller, receiver) {
      let over = false;
      let unfollow = (): void => undefined;

      async function follow(asked: Asked): Promise<void> {
        const refusal = await refusalOf(asked, caller);
        if (over) return;
        const errors = formatted(refusal ?? [], caller);
        onFollow(asked.operation, errors);
        if (refusal !== null) {
          receiver.fail(errors);
          return;
        }
        const { operation, operationName, variables } = asked;
        unfollow = feed.follow(
          {
            document: operation.document,
            operationName,
            variables,
            key: JSON.stringify([operation.source, operationName, variables, caller.consumer]),
            context: () => contextOf(caller),
          },
          receiver,
        );
      }

      async function run(): Promise<void> {
        const tooMany = (await caller.count?.()) ?? null;
        if (tooMany !== null) throw tooMany;
        if (over) return;
        if (ask instanceof GraphQLError) throw ask;
        const operation = check(ask);
        if ("errors" in operation) {
          receiver.fail(formatted(operation.errors, caller));
          return;
        }
        const asked = {
          operation,
          variables: ask.variables ?? undefined,
          operationName: ask.operationName ?? undefined,
        };
        if (operation.node.operation === OperationTypeNode.SUBSCRIPTION) {
          await follow(asked);
          return;
        }
        if (operation.node.operation === OperationTypeNode.MUTATION && caller.safe) {
          throw failure("BAD_REQUEST", "Mutations are sent by POST or over a WebSocket");
        }
        const result = await execute(asked, caller);
        if (over) return;
        receiver.next(JSON.stringify(result));
        receiver.complete();
      }

      const running = run().catch((fault: unknown) => {
        if (!over) receiver.fail(formatted(errorsIn(fault), caller));
      });
      void single.add(running);
      return () => {
        over = true;
        unfollow();
      };
    },

    async settled() {
      await single.settled();
      await feed.settled();
    },
  };
}
