/** The keys of counters in Redis. */
import type { Counter } from "./counters.ts";

/** Milliseconds that a counter outlives its window, for nodes whose clocks differ. Its key contains the window. */
const SKEW = 1000;

/** The braces put the windows of one name into one slot of a Redis Cluster, so that a script may use all of them. */
export const counterKey = ({ name, period, windowStart }: Counter): string =>
  `sluice:{${name}}:${period}:${windowStart}`;

export const lifetime = ({ expires }: Counter, now: number): number => Math.max(0, expires - now) + SKEW;
