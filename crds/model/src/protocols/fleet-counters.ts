/**
 * The counters of long periods (rate limits with `policy: fleet`) that the operator keeps, so that they survive a restart
 * of all nodes. A call is a PluginEndpointCall with POST, whose plugin is NODE and whose path is FLEET_COUNTERS_PATH
 * (plugin-endpoint.ts). Its body is FleetCountersCall, and its response FleetCountersAnswer. A node that does not keep
 * counters for an operator, or has an earlier version, has no such endpoint.
 */

export const FLEET_COUNTERS_PATH = "fleet-counters";

/** Maximum number of counters that an operator keeps for a fleet, and a node for the operator. */
export const MAX_KEPT_COUNTERS = 10_000;

/** What a node knew of a counter when it saved it. Names of counters are hashed. */
export interface KeptCounter {
  readonly key: string;
  /** Unix milliseconds after which the counter is not needed. */
  readonly expires: number;
  /** Unix milliseconds; of two with the same key, the later one counts. */
  readonly savedAt: number;
  /** Only nodes know its format. */
  readonly content: unknown;
}

export interface FleetCountersCall {
  /** The `sequence` of the last answer of this node; 0 for the first call. */
  readonly since: number;
  /** Counters that a node must know before its first view. */
  readonly restored: readonly KeptCounter[];
}

export interface FleetCountersAnswer {
  readonly sequence: number;
  /** What the node has saved since the last answer. */
  readonly counters: readonly KeptCounter[];
  /** There are more: the operator asks again at once. */
  readonly hasMore: boolean;
}

type Members = Readonly<Record<string, unknown>>;

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

function isKeptCounter(value: unknown): value is KeptCounter {
  const { key, expires, savedAt, content } = Object(value) as Members;
  return typeof key === "string" && isCount(expires) && isCount(savedAt) && content !== undefined;
}

const isCounterList = (value: unknown): value is readonly KeptCounter[] =>
  Array.isArray(value) && value.length <= MAX_KEPT_COUNTERS && value.every(isKeptCounter);

export function isFleetCountersCall(value: unknown): value is FleetCountersCall {
  const { since, restored } = Object(value) as Members;
  return isCount(since) && isCounterList(restored);
}

export function isFleetCountersAnswer(value: unknown): value is FleetCountersAnswer {
  const { sequence, counters, hasMore } = Object(value) as Members;
  return isCount(sequence) && isCounterList(counters) && typeof hasMore === "boolean";
}
