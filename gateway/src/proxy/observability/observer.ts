/**
 * Observers of served requests: access log and tracing. Without them there is no observer object, and each event costs
 * a request one comparison.
 */
import type { AttemptObserver, LiveExchange } from "../exchange/live-exchange.ts";

/**
 * A request that was answered without becoming an exchange: its head is invalid or did not arrive in time, or no route
 * matched.
 */
export interface RejectedRequest {
  readonly id: string;
  readonly status: number;
  /** Null when the head could not be read. */
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly clientAddress: string;
    readonly head: { readonly peer: { readonly tlsVersion: string | null } };
    header(name: string): string | undefined;
  } | null;
  /** Remote address of the connection; "" when unknown. */
  readonly peerAddress: string;
  /** Milliseconds since the request arrived. */
  readonly duration: number;
}

/** Is told of the events of requests. None of its methods throws. */
export interface RequestObserver extends AttemptObserver {
  /** Called when the route was matched, before checks and plugins run. */
  opened?(exchange: LiveExchange): void;
  finished?(exchange: LiveExchange): void;
  rejected?(refusal: RejectedRequest): void;
  /** Reopens files that were moved away, for log rotation. */
  reopen?(): void;
  /** Resolves when all data has been delivered, or after a few seconds. */
  close(): Promise<void>;
}

/** Combines observers into one; null when there are none. */
export function combineObservers(observers: readonly RequestObserver[]): RequestObserver | null {
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
