/**
 * The operations of a WebSocket that have not ended, and what the service answers to them: the messages `next`, `error`
 * and `complete` of graphql-transport-ws; the older protocol calls `next` `data`.
 */
import type { MessageObserver } from "@sluice/plugin-sdk";
import { hasErrors, parsedJson } from "./parameters.ts";
import type { NamedOperation } from "./read-request.ts";

/** Operations in progress of one WebSocket that are followed. */
const MAX_FOLLOWED = 1000;
/** Characters of the id of an operation that is followed: clients mostly use a number or a UUID. */
const MAX_ID = 128;

const resultTypes: ReadonlySet<unknown> = new Set(["next", "data"]);
const ERROR = "error";
const COMPLETE = "complete";

/** Parts of the messages that end an operation, and of results with errors. Other messages are not parsed. */
const endings = ['"error', '"complete"'].map((part) => Buffer.from(part));

/** What is kept of an operation until it ends. */
export type OperationIdentity = Pick<NamedOperation, "type" | "name" | "sha256">;

export interface StartedOperation {
  readonly operation: OperationIdentity;
  /** What the operation purges, separated by commas; empty: nothing. */
  readonly purged: string;
}

export interface EndedOperation {
  readonly operation: OperationIdentity;
  /** Whether the service reported an error, or the WebSocket ended before the result of a query or mutation. */
  readonly failed: boolean;
  /** Milliseconds since the operation was sent. */
  readonly duration: number;
}

interface FollowedOperation extends StartedOperation {
  /** Milliseconds since the epoch. */
  readonly started: number;
  failed: boolean;
  hasResult: boolean;
}

export interface SocketOperationsOptions {
  /** Maximum bytes of a message of the service that is read. */
  readonly limit: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /**
   * Called before the client gets the first result of an operation that purges, or when such an operation ends without
   * one: then the service may execute it later (`isExecuted` is false).
   */
  readonly onPurge: (purged: string, isExecuted: boolean) => void;
  readonly onEnd: (ended: EndedOperation) => void;
}

export class SocketOperations implements MessageObserver {
  readonly limit: number;
  readonly #options: SocketOperationsOptions;
  /** By their ids, which clients choose. */
  readonly #followed = new Map<string, FollowedOperation>();
  /** Number of queries and mutations without a result. While there are some, all messages are read. */
  #awaited = 0;

  constructor(options: SocketOperationsOptions) {
    this.limit = options.limit;
    this.#options = options;
  }

  /** Returns false if the operation is not followed, because there are too many, or because of its long id. */
  begin(id: string, started: StartedOperation): boolean {
    // Services end the earlier operation with this id, or the WebSocket.
    this.stop(id);
    if (this.#followed.size >= MAX_FOLLOWED || id.length > MAX_ID) return false;
    const { operation, purged } = started;
    const { type, name, sha256 } = operation;
    const kept = { operation: { type, name, sha256 }, purged };
    this.#followed.set(id, { ...kept, started: this.#options.now(), failed: false, hasResult: false });
    if (isAwaited(started)) this.#awaited++;
    return true;
  }

  /** Ends an operation that the client has ended. */
  stop(id: string): void {
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    if (isAwaited(followed) && !followed.hasResult) followed.failed = true;
    this.#end(id, followed, false);
  }

  /** Ends all operations, because the WebSocket has ended. */
  stopAll(): void {
    for (const id of [...this.#followed.keys()]) this.stop(id);
  }

  observe(message: Buffer): void {
    if (this.#followed.size === 0) return;
    if (this.#awaited === 0 && !endings.some((part) => message.includes(part))) return;
    const { id, type, payload } = Object(parsedJson(message.toString())?.value);
    const followed = this.#followed.get(id);
    if (followed === undefined) return;
    if (resultTypes.has(type)) {
      if (hasErrors(payload)) followed.failed = true;
      this.#markAnswered(followed, true);
    } else if (type === ERROR || type === COMPLETE) {
      if (type === ERROR) followed.failed = true;
      this.#end(id, followed, true);
    }
  }

  /** @param byService Whether the service has answered; false: the operation has ended without a result */
  #markAnswered(followed: FollowedOperation, byService: boolean): void {
    if (followed.hasResult) return;
    followed.hasResult = true;
    if (isAwaited(followed)) this.#awaited--;
    if (followed.purged !== "") this.#options.onPurge(followed.purged, byService);
  }

  #end(id: string, followed: FollowedOperation, byService: boolean): void {
    this.#followed.delete(id);
    this.#markAnswered(followed, byService);
    const { now, onEnd } = this.#options;
    const { operation, failed, started } = followed;
    onEnd({ operation, failed, duration: now() - started });
  }
}

const isAwaited = ({ operation }: StartedOperation): boolean => operation.type !== "subscription";
