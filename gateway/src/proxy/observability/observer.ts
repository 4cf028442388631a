/**
 * Observers of served requests, and of connections that are not HTTP: access log, tracing, recent requests, counts of
 * traffic, and watched requests.
 */
import type { GatewayErrorName } from "../../exchange/gateway-errors.ts";
import type { AttemptObserver, LiveExchange } from "../exchange/live-exchange.ts";
import type { StreamRecord } from "../streams/stream-record.ts";

/**
 * A request that was answered without becoming an exchange: its head is invalid or did not arrive in time, or no route
 * matched.
 */
export interface RejectedRequest {
  readonly id: string;
  readonly name: GatewayErrorName;
  readonly status: number;
  /** Null when the head could not be read. */
  readonly request: {
    readonly method: string;
    readonly host: string;
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

/** Receives the events of requests. None of its methods throws. */
export interface RequestObserver extends AttemptObserver {
  /** Called when the route was matched, before checks and plugins run. */
  opened?(exchange: LiveExchange): void;
  finished?(exchange: LiveExchange): void;
  rejected?(refusal: RejectedRequest): void;
  /** Called at the end of a connection that is not HTTP. */
  streamed?(record: StreamRecord): void;
  /** Reopens files that were moved away, for log rotation. */
  reopen?(): void;
  /** Resolves when all data has been delivered, or after a few seconds. */
  close?(): Promise<void>;
}

/**
 * Combines observers into one. The result has `close`, and each other method that at least one of the observers has.
 */
export function combineObservers(
  observers: readonly RequestObserver[],
): RequestObserver & Required<Pick<RequestObserver, "close">> {
  const opened = combined(observers.map((each) => each.opened?.bind(each)));
  const tried = combined(observers.map((each) => each.tried?.bind(each)));
  const failed = combined(observers.map((each) => each.failed?.bind(each)));
  const retried = combined(observers.map((each) => each.retried?.bind(each)));
  const finished = combined(observers.map((each) => each.finished?.bind(each)));
  const rejected = combined(observers.map((each) => each.rejected?.bind(each)));
  const streamed = combined(observers.map((each) => each.streamed?.bind(each)));
  const reopen = combined(observers.map((each) => each.reopen?.bind(each)));
  return {
    ...(opened && { opened }),
    ...(tried && { tried }),
    ...(failed && { failed }),
    ...(retried && { retried }),
    ...(finished && { finished }),
    ...(rejected && { rejected }),
    ...(streamed && { streamed }),
    ...(reopen && { reopen }),
    close: async () => void (await Promise.all(observers.map((each) => each.close?.()))),
  };
}

type Listener<Given extends readonly unknown[]> = (...given: Given) => void;

/** Calls the functions in order; undefined: there are none. */
function combined<Given extends readonly unknown[]>(
  functions: readonly (Listener<Given> | undefined)[],
): Listener<Given> | undefined {
  const [first, second, ...others] = functions.filter((each) => each !== undefined);
  if (first === undefined || second === undefined) return first;
  const both: Listener<Given> = (...given) => {
    first(...given);
    second(...given);
  };
  return others.length === 0 ? both : combined([both, ...others]);
}
