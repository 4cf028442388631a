/** Counters of a fleet that the operator keeps: it asks the node for them (fleet-counters.ts of @sluice/model). */
import {
  type FleetCountersAnswer,
  isFleetCountersCall,
  type KeptCounter,
  MAX_KEPT_COUNTERS,
} from "@sluice/model/serving";
import type { EndpointResponse } from "@sluice/plugin-sdk";
import { counterId } from "../counters/fleet/accounts.ts";
import { WINDOW_GRACE } from "../counters/fleet/fleet-clock.ts";
import type { ReportedCounter } from "../counters/fleet/messages.ts";
import type { FleetPeer } from "../peers/fleet-peer.ts";
import type { LedgerStore } from "../peers/ledger-saver.ts";
import { reportedOf } from "../peers/parse-message.ts";

/** Approximate maximum of characters of an answer. */
const MAX_ANSWER = 4 * 1024 * 1024;

interface HeldCounter {
  readonly kept: KeptCounter;
  readonly sequence: number;
  readonly size: number;
}

export class OperatorLedgers implements LedgerStore {
  readonly #peer: Pick<FleetPeer, "restore">;
  /** What the node has saved, in the order of `sequence`. */
  readonly #held = new Map<string, HeldCounter>();
  #sequence = 0;

  constructor(peer: Pick<FleetPeer, "restore">) {
    this.#peer = peer;
  }

  /** The operator sends what it has kept before the first view. */
  async load(): Promise<readonly ReportedCounter[]> {
    return [];
  }

  /** Never rejects. At the capacity, the counters that were saved first are left out. */
  async save(counters: readonly ReportedCounter[]): Promise<void> {
    const savedAt = Date.now();
    for (const content of counters) {
      const expires = content.counter.expires + WINDOW_GRACE;
      const key = counterId(content.counter);
      this.#held.delete(key);
      const size = JSON.stringify(content).length;
      this.#held.set(key, { kept: { key, expires, savedAt, content }, sequence: ++this.#sequence, size });
    }
    for (const [key, { kept }] of this.#held) {
      if (kept.expires <= savedAt || this.#held.size > MAX_KEPT_COUNTERS) this.#held.delete(key);
    }
  }

  /** @param body The body of the operator's call, not yet validated */
  answer(body: unknown): EndpointResponse {
    const invalid = { status: 400, body: { message: "the body must be a FleetCountersCall" } };
    if (!isFleetCountersCall(body)) return invalid;
    try {
      this.#peer.restore(body.restored.map(({ content }) => reportedOf(content)));
    } catch {
      return invalid;
    }
    return { status: 200, body: this.#since(body.since) };
  }

  #since(since: number): FleetCountersAnswer {
    const counters: KeptCounter[] = [];
    let [size, sequence] = [0, since];
    for (const held of this.#held.values()) {
      if (held.sequence <= since) continue;
      if (counters.length > 0 && size + held.size > MAX_ANSWER) return { sequence, counters, hasMore: true };
      counters.push(held.kept);
      size += held.size;
      sequence = held.sequence;
    }
    return { sequence, counters, hasMore: false };
  }
}
