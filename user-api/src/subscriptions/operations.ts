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
import { failure, type Occasion, present } from "../errors.ts";
import { UnderWay } from "../execution/pending-work.ts";
import type { Ask, Documents, Operation } from "../limits/documents.ts";
import type { Variables } from "../limits/measures.ts";
import type { Consumer } from "../policy/caller.ts";
import type { Share } from "./client-quota.ts";
import type { Feed } from "./feed.ts";
import type { Receiver } from "./receiver.ts";
import { Begun } from "./receiver.ts";

/** The caller of an operation. */
export interface Caller extends Occasion {
  readonly consumer: Consumer | null;
  /** The memory share of the connection's client. */
  readonly share: Share;
  /** Whether the request's method is safe (RFC 9110). */
  readonly safe?: boolean;
  /** Counts an operation against the client's rate; null: allowed. Absent where the request was counted already. */
  readonly count?: () => Promise<GraphQLError | null>;
}

/** A client's message: the operation that it requests, or the error in it. */
export interface Sent {
  readonly ask: Ask | GraphQLError;
  /** Size of the request as received. */
  readonly bytes: number;
  /** Bytes that the connection keeps until the operation ends, such as its id. */
  readonly kept: number;
}

export interface Operations {
  /** Begins an operation. The receiver gets its end exactly once, unless the returned function stops it before. */
  begin(sent: Sent, caller: Caller, receiver: Receiver): () => void;
  /** Resolves when only subscriptions are left, and those have sent all pending events. */
  settled(): Promise<void>;
}

/** A checked operation with its context. */
export interface Asked {
  readonly operation: Operation;
  /** Only the variables that the operation declares. */
  readonly variables: Variables | undefined;
  readonly operationName: string | undefined;
}

interface Beginning {
  readonly begun: Begun;
  /** See Sent. */
  readonly kept: number;
  /** Releases the bytes of the request. */
  readonly passed: () => void;
}

export interface OperationsOptions {
  readonly schema: GraphQLSchema;
  readonly feed: Feed;
  /** Checks the requested operation; returns it or all of its errors. */
  readonly check: Documents["valid"];
  /** Executes a query or a mutation, as for a request. */
  readonly execute: (operation: Asked, caller: Caller) => Promise<FormattedExecutionResult>;
  /** Called for each subscription that begins, or with the errors for which it does not. */
  readonly onFollow: (operation: Operation, errors: readonly GraphQLFormattedError[]) => void;
  /** The resolvers' context, new for each execution. */
  readonly contextOf: (caller: Pick<Caller, "consumer">) => object;
  /** The error for a client whose operations would exceed its memory share. */
  readonly tooMuch: () => GraphQLError;
}

/** The fixed cost of a subscriber, besides its document; it bounds the number of subscriptions. */
const FOLLOWER_BYTES = 200;

/** Memory of a document per token, at most; measured with graphql-js 16. */
const TOKEN_BYTES = 500;

function tokensOf({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) tokens += 1;
  return tokens;
}

const formatted = (errors: readonly GraphQLError[], caller: Caller): readonly GraphQLFormattedError[] =>
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
function keyOf({ operation, operationName, variables }: Asked, consumer: Consumer | null) {
  const text = JSON.stringify([operation.source, operationName, variables, consumer]);
  return { key: createHash("sha256").update(text).digest("base64"), length: text.length };
}

export function makeOperations(options: OperationsOptions): Operations {
  const { schema, feed, check, execute, onFollow, contextOf, tooMuch } = options;
  const single = new UnderWay();

  /** Checks that the subscription may begin: its variables fit, and its `subscribe` resolver throws no error. */
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

  /** Reserves the memory of a subscription; null: the client's share is exceeded. */
  function keepFollowed(asked: Asked, { consumer, share }: Caller, kept: number) {
    const { key, length } = keyOf(asked, consumer);
    const own = share.keep(FOLLOWER_BYTES + kept);
    const shared = share.keepShared(key, TOKEN_BYTES * tokensOf(asked.operation.document) + length);
    const release = (): void => {
      own?.();
      shared?.();
    };
    if (own !== null && shared !== null) return { key, release };
    release();
    return null;
  }

  async function follow(asked: Asked, caller: Caller, { begun, kept, passed }: Beginning): Promise<void> {
    const refusal = await refusalOf(asked, caller);
    if (begun.over) return;
    const { operation, operationName, variables } = asked;
    const { consumer } = caller;
    // The request itself is no longer needed.
    passed();
    const followed = refusal === null ? keepFollowed(asked, caller, kept) : null;
    const errors = formatted(refusal ?? (followed === null ? [tooMuch()] : []), caller);
    onFollow(operation, errors);
    if (followed === null) {
      begun.fail(errors);
      return;
    }
    const { key } = followed;
    begun.onEnd(followed.release);
    const { document } = operation;
    const context = () => contextOf({ consumer });
    begun.onEnd(feed.follow({ document, operationName, variables, key, context }, begun));
  }

  async function run(ask: Ask | GraphQLError, caller: Caller, beginning: Beginning): Promise<void> {
    const { begun } = beginning;
    if (ask instanceof GraphQLError) throw ask;
    const operation = check(ask);
    if ("errors" in operation) {
      begun.fail(formatted(operation.errors, caller));
      return;
    }
    const asked: Asked = {
      operation,
      variables: ask.variables ? declaredOf(operation, ask.variables) : undefined,
      operationName: ask.operationName ?? undefined,
    };
    if (operation.node.operation === OperationTypeNode.SUBSCRIPTION) {
      await follow(asked, caller, beginning);
      return;
    }
    if (operation.node.operation === OperationTypeNode.MUTATION && caller.safe) {
      throw failure("BAD_REQUEST", "Mutations are sent by POST or over a WebSocket");
    }
    const result = await execute(asked, caller);
    if (begun.over) return;
    begun.next(JSON.stringify(result));
    begun.complete();
  }

  async function begin({ ask, bytes, kept }: Sent, caller: Caller, begun: Begun): Promise<void> {
    // Reserved at once: counting may take time, during which more operations arrive.
    const release = caller.share.keep(bytes);
    if (release !== null) begun.onEnd(release);
    const tooMany = (await caller.count?.()) ?? null;
    if (tooMany !== null) throw tooMany;
    if (release === null) throw tooMuch();
    if (!begun.over) await run(ask, caller, { begun, kept, passed: release });
  }

  return {
    begin(sent, caller, receiver) {
      const begun = new Begun(receiver);
      void single.add(
        begin(sent, caller, begun).catch((fault: unknown) => {
          if (!begun.over) begun.fail(formatted(errorsIn(fault), caller));
        }),
      );
      return () => begun.end();
    },

    async settled() {
      await single.settled();
      await feed.settled();
    },
  };
}
