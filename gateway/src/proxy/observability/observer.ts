/**
 * Observers of served requests: access log and tracing. Without them there is no observer object, and a request pays one
 * comparison per event.
 */
import type { LiveExchange } from "../exchange/live-exchange.ts";
import type { ForwardPlan } from "../pipeline.ts";

/** A request that was answered and is no exchange: its head is faulty, or no route matches. */
export interface RejectedRequest {
  readonly id: string;
  readonly status: number;
  /** Null when the head could not be read. */
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly clientAddress: string;
    readonly head: { readonly tlsVersion: string | null };
    header(name: string): string | undefined;
  } | null;
  /** Of the connection; "" when it is not known. */
  readonly peerAddress: string;
  /** Milliseconds since the request arrived. */
  readonly duration: number;
}

/** None of these throws. */
export interface Observer {
  /** The request has found its route; nothing has been done for it yet. */
  opened?(exchange: LiveExchange): void;
  /** A try at `exchange.target` begins: what the upstream gets has not been put together yet. */
  tried?(exchange: LiveExchange, forward: ForwardPlan): void;
  /** The try has failed before a response came. There may be another. */
  failed?(exchange: LiveExchange, error: Error): void;
  /** The exchange is over. */
  finished?(exchange: LiveExchange): void;
  rejected?(refusal: RejectedRequest): void;
  /** Opens files anew that were moved away. */
  reopen?(): void;
  /** Resolves when all that was seen has been handed on, or cannot be within a few seconds. */
  close(): Promise<void>;
}

/** Combines observers into one; null when there are none. */
export function combineObservers(observers: readonly Observer[]): Observer | null {
  const [first = null] = observers;
  if (observers.length < 2) return first;
  return {
    opened: (exchange) => observers.forEach((each) => void each.opened?.(exchange)),
    tried: (exchange, forward) => observers.forEach((each) => void each.tried?.(exchange, forward)),
    failed: (exchange, error) => observers.forEach((each) => void each.failed?.(exchange, error)),
    finished: (exchange) => observers.forEach((each) => void each.finished?.(exchange)),
    rejected: (refusal) => observers.forEach((each) => void each.rejected?.(refusal)),
    reopen: () => observers.forEach((each) => void each.reopen?.()),
    close: async () => void (await Promise.all(observers.map((each) => each.close()))),
  };
}
