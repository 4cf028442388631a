import type { Timings } from "./exchange.ts";

/** Whole milliseconds, as Kong's log plugins report them. */
export interface Latencies {
  /** The time from the start to the end of the exchange. */
  readonly request: number;
  /** The time until the last attempt to forward the request began; until the end if there was none. */
  readonly kong: number;
  /** The time from the start of the last attempt to the head of the upstream's response; -1 without a response. */
  readonly proxy: number;
  /** The time from the head of the upstream's response to the end of the exchange; 0 without a response. */
  readonly receive: number;
}

/** The latencies of an exchange that has ended. */
export function latenciesOf({ started, forwarded, answered, ended = started }: Timings): Latencies {
  const isProxied = forwarded !== undefined && answered !== undefined;
  return {
    request: whole(ended - started),
    kong: whole((forwarded ?? ended) - started),
    proxy: isProxied ? whole(answered - forwarded) : -1,
    receive: isProxied ? whole(ended - answered) : 0,
  };
}

const whole = (milliseconds: number): number => Math.max(0, Math.floor(milliseconds));
