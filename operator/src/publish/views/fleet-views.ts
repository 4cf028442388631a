/** Keeps the view of each fleet, and sends it to the nodes that take part (fleet-view.ts of @sluice/model). */
import { type NodeReport, type PushView, REMOVE_PEER_AFTER } from "@sluice/model";
import { abortableDelay } from "../../abortable-delay.ts";
import { PushRefusedError } from "../node-client.ts";
import { FleetMembership, type MemberCandidate } from "./fleet-membership.ts";

type FleetNode = MemberCandidate & { readonly fleet: string };

export interface FleetViewsOptions {
  /** The nodes of all fleets, each with the name of its fleet. */
  readonly nodes: () => readonly FleetNode[];
  /** The term in which this operator publishes; null: it sends nothing. */
  readonly term: () => number | null;
  /** Sends a view to the node at an address, and resolves to the node's state. */
  readonly send: (address: string, view: PushView) => Promise<NodeReport>;
  /**
   * Called before the first view of a node, so that it knows the counters that a restart of all nodes must not end. The
   * node gets its view when this has resolved.
   */
  readonly restore: (node: { readonly address: string; readonly fleet: string }) => Promise<void>;
  /** Called when a node refuses a view, which is a fault of one of the two. */
  readonly onRefusal: (address: string, reason: string) => void;
  /** A monotonic clock. */
  readonly now?: () => number;
}

/** Milliseconds until a view is sent again that a node did not take. */
const RETRY_INTERVAL = 500;

export function createFleetViews(options: FleetViewsOptions) {
  const { nodes, term, send, restore, onRefusal, now = () => performance.now() } = options;
  const fleets = new Map<string, FleetMembership>();
  /** By the name of a node: the epoch that it has adopted since its last report. */
  const adopted = new Map<string, number>();
  /** Addresses of nodes to which a view is under way, or has failed a moment ago. */
  const busy = new Set<string>();
  let turn: NodeJS.Immediate | undefined;
  let silenceTimer: NodeJS.Timeout | undefined;
  const closing = new AbortController();

  /** Calls within one turn of the event loop are merged. */
  function schedule(): void {
    if (!closing.signal.aborted) turn ??= setImmediate(update);
  }

  function update(): void {
    turn = undefined;
    const ours = term();
    if (ours === null) return;
    const candidates = nodes();
    const byFleet = Map.groupBy(candidates, ({ fleet }) => fleet);
    for (const name of fleets.keys()) if (!byFleet.has(name)) fleets.delete(name);
    for (const [name, members] of byFleet) {
      const fleet = fleets.getOrInsertComputed(name, () => new FleetMembership());
      const view = fleet.update(members, { term: ours, now: now() });
      if (view) for (const member of members) if (needsView(member, view)) void deliver(member, view);
    }
    const names = new Set(candidates.map(({ state }) => state?.peer?.name));
    for (const name of adopted.keys()) if (!names.has(name)) adopted.delete(name);
    watchSilence(candidates);
  }

  /** A node gets views once it knows the term, from a document: until then, its revision is that of another term. */
  function needsView({ address, state }: MemberCandidate, view: PushView): boolean {
    if (!state?.peer || state.term !== view.term || busy.has(address)) return false;
    return epochOf({ state }) < view.epoch;
  }

  /** The epoch of the view that a node has adopted; 0: none. */
  const epochOf = ({ state }: Pick<MemberCandidate, "state">): number =>
    state?.peer ? Math.max(state.peer.epoch, adopted.get(state.peer.name) ?? 0) : 0;

  /** A node that does not answer reports nothing when its time is over. */
  function watchSilence(candidates: readonly MemberCandidate[]): void {
    clearTimeout(silenceTimer);
    const ends = candidates.flatMap(({ unansweredSince }) =>
      unansweredSince === null ? [] : unansweredSince + REMOVE_PEER_AFTER - now(),
    );
    const next = Math.min(...ends.filter((left) => left > 0));
    if (next !== Number.POSITIVE_INFINITY) silenceTimer = setTimeout(schedule, next).unref();
  }

  async function deliver(node: FleetNode, view: PushView): Promise<void> {
    const { address } = node;
    busy.add(address);
    const restored = epochOf(node) === 0 ? restore(node) : Promise.resolve();
    const isTaken = await restored
      .then(() => send(address, view))
      .then(
        ({ peer }) => {
          if (peer) adopted.set(peer.name, peer.epoch);
          return peer !== undefined && peer.epoch >= view.epoch;
        },
        (error: Error) => {
          if (error instanceof PushRefusedError) onRefusal(address, error.message);
          return false;
        },
      );
    if (!isTaken) await abortableDelay(RETRY_INTERVAL, closing.signal);
    busy.delete(address);
    // There may be a newer view by now.
    schedule();
  }

  return {
    /** Called when a node's state, the list of nodes, or the term may have changed. */
    schedule,
    /** The addresses of the nodes that take part in a fleet. */
    participants: (fleet: string): ReadonlySet<string> => fleets.get(fleet)?.addresses ?? new Set(),
    close(): void {
      closing.abort();
      clearImmediate(turn);
      clearTimeout(silenceTimer);
    },
  };
}
