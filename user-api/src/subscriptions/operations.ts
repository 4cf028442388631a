/** Runs operations for sockets and event streams, with the same checks as for other requests. */
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { createSourceEventStream, type DocumentNode, GraphQLError, OperationTypeNode } from "graphql";
import { asGraphqlError, createFailure, errorCodesOf, formatError } from "../errors.ts";
import type { Executor, RequestedOperation } from "../execution/executor.ts";
import { PendingWork } from "../execution/pending-work.ts";
import type { GraphqlRequest } from "../limits/documents.ts";
import type { SubscriptionLimits } from "../limits/limits.ts";
import type { Variables } from "../limits/measures.ts";
import type { Consumer } from "../policy/caller.ts";
import type { ClientQuota } from "./client-quota.ts";
import { ActiveOperation, type OperationReceiver } from "./connection.ts";
import type { Feed } from "./feed.ts";

/** The connection on which an operation arrived. */
export interface MessageSender {
  /** The request of an event stream, or the one that opened the socket. */
  readonly request: FastifyRequest;
  readonly quota: ClientQuota;
  /**
   * Counts an operation against the client's rate; null: allowed. Absent for event streams, whose request was counted
   * already.
   */
  readonly count?: (request: FastifyRequest) => Promise<GraphQLError | null>;
}

/** A client's message: the operation that it requests, or the error in it. */
export interface ReceivedOperation {
  readonly request: GraphqlRequest | GraphQLError;
  /** The approximate size of the request as received. */
  readonly bytes: number;
  /** Bytes that the connection keeps until the operation ends, such as its id. */
  readonly kept: number;
}

export interface OperationsOptions {
  readonly executor: Executor;
  readonly feed: Feed;
  readonly limits: Pick<SubscriptionLimits, "clientBytes">;
}

/** The bytes that a subscriber costs in addition to its document. Both count against the client's `clientBytes`. */
const SUBSCRIBER_BYTES = 200;

/** The maximum memory of a document per token, in bytes; measured with graphql-js 16. */
const TOKEN_BYTES = 500;

function tokensOf({ loc }: DocumentNode): number {
  let tokens = 0;
  for (let token = loc?.startToken; token; token = token.next ?? undefined) tokens += 1;
  return tokens;
}

/** Drops undeclared variables, which graphql-js ignores. Uses entries, because a variable may be called __proto__. */
function declaredOf({ operation, variables }: RequestedOperation): Variables {
  const names = (operation.node.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
  const given = names.filter((name) => Object.hasOwn(variables, name));
  return Object.fromEntries(given.map((name) => [name, variables[name]]));
}

/**
 * The key that equal subscriptions share, and the length of the text from which it is computed. The key is a hash, so
 * that subscriptions do not keep that text.
 */
function keyOf({ operation, variables }: RequestedOperation, consumer: Consumer | null) {
  const text = JSON.stringify([operation.source, operation.node.name?.value, variables, consumer]);
  return { key: createHash("sha256").update(text).digest("base64"), length: text.length };
}

export function makeOperations({ executor, feed, limits: { clientBytes: maximum } }: OperationsOptions) {
  const single = new PendingWork();
  const memoryExceeded = (): GraphQLError =>
    createFailure("LIMIT_EXCEEDED", `The operations of a client may use at most ${maximum} bytes`, {
      limit: "clientBytes",
      maximum,
    });

  async function subscribe(
    { operation, variables }: RequestedOperation,
    { request, quota }: MessageSender,
    { active, kept, releaseRequest }: { active: ActiveOperation; kept: number; releaseRequest: () => void },
  ): Promise<void> {
    const { document, node } = operation;
    const { consumer } = request.caller;
    // Has errors if the variables do not fit or the `subscribe` resolver throws.
    const stream = await createSourceEventStream({
      schema: executor.schema,
      document,
      contextValue: executor.contextOf(consumer),
      variableValues: variables,
      operationName: node.name?.value,
    });
    if (active.ended) return;
    // The request itself is no longer needed.
    releaseRequest();
    const { key, length } = keyOf({ operation, variables }, consumer);
    let errors = "errors" in stream ? (stream.errors ?? []) : [];
    if (errors.length === 0) {
      const own = quota.reserve(SUBSCRIBER_BYTES + kept);
      const shared = quota.reserve(TOKEN_BYTES * tokensOf(document) + length, key);
      if (own !== null) active.onEnd(own);
      if (shared !== null) active.onEnd(shared);
      if (own === null || shared === null) errors = [memoryExceeded()];
    }
    const presented = errors.map((error) => formatError(error, request));
    executor.metrics.recordExecution(operation, null, errorCodesOf(presented));
    if (errors.length > 0) active.fail(presented);
    else active.onEnd(feed.subscribe({ operation, variables, consumer, key }, active));
  }

  async function begin(
    { request: asked, bytes, kept }: ReceivedOperation,
    sender: MessageSender,
    active: ActiveOperation,
  ): Promise<void> {
    const { request, quota, count } = sender;
    // Reserved at once: counting may take time, during which more operations arrive.
    const release = quota.reserve(bytes);
    if (release !== null) active.onEnd(release);
    const tooMany = (await count?.(request)) ?? null;
    if (tooMany !== null) throw tooMany;
    if (release === null) throw memoryExceeded();
    if (active.ended) return;
    if (asked instanceof GraphQLError) throw asked;
    const operation = executor.check(asked);
    if ("errors" in operation) {
      active.fail(executor.refuse(operation.errors, request));
      return;
    }
    const requested: RequestedOperation = { operation, variables: asked.variables ?? {} };
    const kind = operation.node.operation;
    if (kind === OperationTypeNode.SUBSCRIPTION) {
      const declared = { operation, variables: declaredOf(requested) };
      await subscribe(declared, sender, { active, kept, releaseRequest: release });
      return;
    }
    // A socket is opened by GET, but its messages are not bound to that method.
    if (kind === OperationTypeNode.MUTATION && count === undefined && request.method !== "POST") {
      throw createFailure("BAD_REQUEST", "Mutations must be sent by POST or over a WebSocket");
    }
    const result = await executor.execute(requested, request.caller.consumer, request);
    if (!("data" in result)) {
      active.fail(executor.refuse(result.errors, request));
      return;
    }
    active.next(JSON.stringify(result));
    active.complete();
  }

  return {
    /**
     * Begins an operation. When it ends, either `fail` or `complete` of the receiver is called once. The returned
     * function stops the operation without such a call.
     */
    begin(received: ReceivedOperation, sender: MessageSender, receiver: OperationReceiver): () => void {
      const active = new ActiveOperation(receiver);
      void single.add(
        begin(received, sender, active).catch((fault: unknown) => {
          if (!active.ended) active.fail(executor.refuse([asGraphqlError(fault)], sender.request));
        }),
      );
      // Not a closure, which would keep the sender's request and its body.
      return active.end.bind(active);
    },

    /** Resolves when only subscriptions are left, and those have sent all pending events. */
    async settled() {
      await single.settled();
      await feed.settled();
    },
  };
}
