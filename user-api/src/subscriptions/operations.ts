/** Runs operations for sockets and event streams, with the same checks as for requests. */
import { createHash } from "node:crypto";
import {
  createSourceEventStream,
  type DocumentNode,
  type FormattedExecutionResult,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  OperationTypeNode,
} from "graphql";
import { type ErrorContext, failure, present } from "../errors.ts";
import { PendingWork } from "../execution/pending-work.ts";
import type { Documents, GraphqlRequest, Operation } from "../limits/documents.ts";
import type { Variables } from "../limits/measures.ts";
import type { Consumer } from "../policy/caller.ts";
import type { ClientQuota } from "./client-quota.ts";
import type { Feed } from "./feed.ts";
import type { Receiver } from "./receiver.ts";
import { ActiveOperation } from "./receiver.ts";

/** The caller of an operation. */
export interface OperationCaller extends ErrorContext {
  readonly consumer: Consumer | null;
  /** The quota of the connection's client. */
  readonly quota: ClientQuota;
  /** Whether the request's method is safe (RFC 9110). */
  readonly safe?: boolean;
  /** Counts an operation against the client's rate; null: allowed. Absent where the request was counted already. */
  readonly count?: () => Promise<GraphQLError | null>;
}

/** A client's message: the operation that it requests, or the error in it. */
export interface ReceivedOperation {
  readonly request: GraphqlRequest | GraphQLError;
  /** Size of the request as received. */
  readonly bytes: number;
  /** Bytes that the connection keeps until the operation ends, such as its id. */
  readonly kept: number;
}

export interface Operations {
  /** Begins an operation. The receiver gets its end exactly once, unless the returned function stops it before. */
  begin(sent: ReceivedOperation, caller: OperationCaller, receiver: Receiver): () => void;
  /** Resolves when only subscriptions are left, and those have sent all pending events. */
  settled(): Promise<void>;
}

/** A checked operation with its context. */
export interface CheckedOperation {
  readonly operation: Operation;
  /** Only the variables that the operation declares. */
  readonly variables: Variables | undefined;
  readonly operationName: string | undefined;
}

interface StartingOperation {
  readonly active: ActiveOperation;
  /** See ReceivedOperation. */
  readonly kept: number;
  /** Releases the bytes of the request. */
  readonly releaseRequest: () => void;
}

export interface OperationsOptions {
  readonly schema: GraphQLSchema;
  readonly feed: Feed;
  /** Checks the requested operation; returns it or all of its errors. */
  readonly check: Documents["valid"];
  /** Executes a query or a mutation, as for a request. */
  readonly execute: (operation: CheckedOperation, caller: OperationCaller) => Promise<FormattedExecutionResult>;
  /** Called for each subscription that begins, or with the errors for which it does not. */
  readonly onSubscribed: (operation: Operation, errors: readonly GraphQLFormattedError[]) => void;
  /** The resolvers' context, new for each execution. */
  readonly contextOf: (caller: Pick<OperationCaller, "consumer">) => object;
  /** The error for a client whose operations would exceed its quota. */
  readonly memoryExceeded: () => GraphQLError;
}

/** The fixed cost of a subscriber, besides its document; it bounds the number of subscriptions. */
const SUBSCRIBER_BYTES = 200;

/** Memory of a document per token, at most; measured with graphql-js 16. */
const TOKEN_BYTES = 500;

function tokensOf({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) tokens += 1;
  return tokens;
}

const formatted = (errors: readonly GraphQLError[], caller: OperationCaller): readonly GraphQLFormattedError[] =>
  errors.map((error) => present(error, caller));

/** Converts an error to GraphQL errors. mercurius throws all validation errors in one. */
function errorsIn(fault: unknown): readonly GraphQLError[] {
  if (fault instanceof GraphQLError) return [fault];
  if (typeof fault === "object" && fault !== null && "errors" in fault && Array.isArray(fault.errors)) {
    return fault.errors.flatMap(errorsIn);
  }
  const originalError = fault instanceof Error ? fault : new Error(String(fault));
  return [new GraphQLError(originalError.message, { originalError })];
}

/** Drops undeclared variables, which graphql-js ignores. Uses entries, because a variable may be called __proto__. */
function declaredOf({ node }: Operation, given: Variables): Variables {
  const names = (node.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
  return Object.fromEntries(names.filter((name) => Object.hasOwn(given, name)).map((name) => [name, given[name]]));
}

/**
 * A key that equal subscriptions share, with the values in it. A hash, so that not each subscription keeps the text.
 */
function keyOf({ operation, operationName, variables }: CheckedOperation, consumer: Consumer | null) {
  const text = JSON.stringify([operation.source, operationName, variables, consumer]);
  return { key: createHash("sha256").update(text).digest("base64"), length: text.length };
}

export function makeOperations(options: OperationsOptions): Operations {
  const { schema, feed, check, execute, onSubscribed, contextOf, memoryExceeded } = options;
  const single = new PendingWork();

  /** Checks that the subscription may begin: its variables fit, and its `subscribe` resolver throws no error. */
  async function refusalOf({ operation, variables, operationName }: CheckedOperation, caller: OperationCaller) {
    const stream = await createSourceEventStream({
      schema,
      document: operation.document,
      contextValue: contextOf(caller),
      variableValues: variables,
      operationName,
    });
    return "errors" in stream ? (stream.errors ?? []) : null;
  }

  /** Reserves the memory of a subscription; null: the client's quota is exceeded. */
  function reserveSubscription(checked: CheckedOperation, { consumer, quota }: OperationCaller, kept: number) {
    const { key, length } = keyOf(checked, consumer);
    const own = quota.reserve(SUBSCRIBER_BYTES + kept);
    const shared = quota.reserveShared(key, TOKEN_BYTES * tokensOf(checked.operation.document) + length);
    const release = (): void => {
      own?.();
      shared?.();
    };
    if (own !== null && shared !== null) return { key, release };
    release();
    return null;
  }

  async function subscribe(
    checked: CheckedOperation,
    caller: OperationCaller,
    { active, kept, releaseRequest }: StartingOperation,
  ): Promise<void> {
    const refusal = await refusalOf(checked, caller);
    if (active.ended) return;
    const { operation, operationName, variables } = checked;
    const { consumer } = caller;
    // The request itself is no longer needed.
    releaseRequest();
    const reserved = refusal === null ? reserveSubscription(checked, caller, kept) : null;
    const errors = formatted(refusal ?? (reserved === null ? [memoryExceeded()] : []), caller);
    onSubscribed(operation, errors);
    if (reserved === null) {
      active.fail(errors);
      return;
    }
    const { key } = reserved;
    active.onEnd(reserved.release);
    const { document } = operation;
    const context = () => contextOf({ consumer });
    active.onEnd(feed.subscribe({ document, operationName, variables, key, context }, active));
  }

  async function run(
    request: GraphqlRequest | GraphQLError,
    caller: OperationCaller,
    beginning: StartingOperation,
  ): Promise<void> {
    const { active } = beginning;
    if (request instanceof GraphQLError) throw request;
    const operation = check(request);
    if ("errors" in operation) {
      active.fail(formatted(operation.errors, caller));
      return;
    }
    const checked: CheckedOperation = {
      operation,
      variables: request.variables ? declaredOf(operation, request.variables) : undefined,
      operationName: request.operationName ?? undefined,
    };
    if (operation.node.operation === OperationTypeNode.SUBSCRIPTION) {
      await subscribe(checked, caller, beginning);
      return;
    }
    if (operation.node.operation === OperationTypeNode.MUTATION && caller.safe) {
      throw failure("BAD_REQUEST", "Mutations are sent by POST or over a WebSocket");
    }
    const result = await execute(checked, caller);
    if (active.ended) return;
    active.next(JSON.stringify(result));
    active.complete();
  }

  async function begin(
    { request, bytes, kept }: ReceivedOperation,
    caller: OperationCaller,
    active: ActiveOperation,
  ): Promise<void> {
    // Reserved at once: counting may take time, during which more operations arrive.
    const release = caller.quota.reserve(bytes);
    if (release !== null) active.onEnd(release);
    const tooMany = (await caller.count?.()) ?? null;
    if (tooMany !== null) throw tooMany;
    if (release === null) throw memoryExceeded();
    if (!active.ended) await run(request, caller, { active, kept, releaseRequest: release });
  }

  return {
    begin(sent, caller, receiver) {
      const active = new ActiveOperation(receiver);
      void single.add(
        begin(sent, caller, active).catch((fault: unknown) => {
          if (!active.ended) active.fail(formatted(errorsIn(fault), caller));
        }),
      );
      return () => active.end();
    },

    async settled() {
      await single.settled();
      await feed.settled();
    },
  };
}
