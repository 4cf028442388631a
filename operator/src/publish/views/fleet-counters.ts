/**
 * Keeps the counters of long periods of each fleet in memory, so that they survive a restart of all nodes
 * (fleet-counters.ts of @sluice/model). They need not be stored: a new leader asks the running nodes again.
 */
import {
  FLEET_COUNTERS_PATH,
  type FleetCountersAnswer,
  type FleetCountersCall,
  isFleetCountersAnswer,
  type KeptCounter,
  MAX_KEPT_COUNTERS,
  NODE_ENDPOINT_ID,
  type PluginEndpointCall,
  type PluginEndpointResult,
} from "@sluice/model";
import { abortableDelay } from "../../abortable-delay.ts";

/** A node that takes part in a fleet. */
export interface CountingNode {
  readonly address: string;
  readonly fleet: string;
  /** Its name in views, which changes with each start. */
  readonly name: string;
}

export interface FleetCountersOptions {
  /** The nodes that answer; none while this operator does not lead. */
  readonly nodes: () => readonly CountingNode[];
  readonly ask: (address: string, call: PluginEndpointCall) => Promise<PluginEndpointResult>;
  /** Called when a node cannot read the counters of others, for example because its version is older. */
  readonly onRefusal: (address: string, reason: string) => void;
  /** Milliseconds between two rounds; default 5000. */
  readonly interval?: number;
}

/** Approximate characters of a call that restores counters: below 1 MiB, which a node accepts. */
const MAX_CALL = 512 * 1024;
/** Maximum number of answers of a node in one round. */
const MAX_ANSWERS = 20;
/** Number of nodes that are asked at the same time, because their answers may be long. */
const LANES = 8;
/** Number of nodes from which on rounds are less frequent. */
const MANY_NODES = 500;

class CountersRefused extends Error {
  override readonly name = "CountersRefused";
}

export function createFleetCounters({ nodes, ask, onRefusal, interval = 5000 }: FleetCountersOptions) {
  const byFleet = new Map<string, Map<string, KeptCounter>>();
  /** By the name of a node: the sequence of its last answer. */
  const sequences = new Map<string, number>();
  const closing = new AbortController();

  /** Null: the node keeps no counters for an operator. */
  async function call(address: string, body: FleetCountersCall): Promise<FleetCountersAnswer | null> {
    const request = { method: "POST", path: [FLEET_COUNTERS_PATH], query: {}, body } as const;
    const { response } = await ask(address, { plugin: NODE_ENDPOINT_ID, request });
    if (response === null) return null;
    if (response.status !== 200 || !isFleetCountersAnswer(response.body))
      throw new CountersRefused(`status ${response.status}: ${JSON.stringify(response.body).slice(0, 200)}`);
    return response.body;
  }

  function keep(fleet: string, counters: readonly KeptCounter[]): void {
    const kept = byFleet.getOrInsertComputed(fleet, () => new Map());
    for (const counter of counters) {
      if ((kept.get(counter.key)?.savedAt ?? 0) > counter.savedAt) continue;
      kept.delete(counter.key);
      kept.set(counter.key, counter);
    }
    const now = Date.now();
    for (const [key, { expires }] of kept) if (expires <= now || kept.size > MAX_KEPT_COUNTERS) kept.delete(key);
  }

  async function collect({ address, fleet, name }: CountingNode): Promise<void> {
    for (let answers = 0; answers < MAX_ANSWERS; answers++) {
      const answer = await call(address, { since: sequences.get(name) ?? 0, restored: [] });
      if (answer === null) return;
      keep(fleet, answer.counters);
      sequences.set(name, answer.sequence);
      if (!answer.hasMore) return;
    }
  }

  /** Asks all nodes for what they have saved. A node that does not answer is asked again in the next round. */
  async function round(): Promise<void> {
    const present = nodes();
    const names = new Set(present.map(({ name }) => name));
    for (const name of sequences.keys()) if (!names.has(name)) sequences.delete(name);
    const left = present.values();
    const lane = async () => {
      for (const node of left) await collect(node).catch(() => undefined);
    };
    await Promise.all(Array.from({ length: LANES }, lane));
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await abortableDelay(interval * Math.max(1, nodes().length / MANY_NODES), closing.signal);
      if (!closing.signal.aborted) await round();
    }
  }
  const working = run();

  return {
    round,
    /** Unix milliseconds at which a node saved the last counter that is kept; null: none is. */
    newest(): number | null {
      const times = byFleet.values().flatMap((kept) => kept.values().map(({ savedAt }) => savedAt));
      return times.reduce((newest: number | null, time) => Math.max(newest ?? 0, time), null);
    },
    /** Sends a new node what is kept of its fleet. Rejects if the node does not answer. */
    async restore({ address, fleet }: Pick<CountingNode, "address" | "fleet">): Promise<void> {
      const now = Date.now();
      const kept = [...(byFleet.get(fleet)?.values() ?? [])].filter(({ expires }) => expires > now);
      try {
        for (const restored of inCalls(kept)) {
          const answer = await call(address, { since: Number.MAX_SAFE_INTEGER, restored });
          if (answer === null) return;
        }
      } catch (error) {
        if (!(error instanceof CountersRefused)) throw error;
        onRefusal(address, error.message);
      }
    },
    async close(): Promise<void> {
      closing.abort();
      await working;
    },
  };
}

/** The counters in lists that fit into a call each. */
function inCalls(counters: readonly KeptCounter[]): readonly (readonly KeptCounter[])[] {
  const calls: KeptCounter[][] = [];
  let left = 0;
  for (const counter of counters) {
    const size = JSON.stringify(counter).length;
    if (size > left) {
      calls.push([]);
      left = MAX_CALL;
    }
    calls.at(-1)?.push(counter);
    left -= size;
  }
  return calls;
}
