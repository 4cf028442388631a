/** How counters stand in Redis. */
import type { Counter } from "./counters.ts";

/** Milliseconds that a counter outlives its window, for nodes whose clocks differ. Its key names the window. */
const SKEW = 1000;

/** The braces keep the windows of one name in one slot of a Redis Cluster, where a script may touch all of them. */
export const counterKey = ({ name, period, windowStart }: Counter): string =>
  `sluice:{${name}}:${period}:${windowStart}`;

export const lifetime = ({ expires }: Counter, now: number): number => Math.max(0, expires - now) + SKEW;
