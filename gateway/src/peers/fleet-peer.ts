/** A node as a member of its fleet, from its start until it has left: adopts the views that the authority publishes. */
import { once } from "node:events";
import type { PeerReport, PemTexts, PublishedView } from "@sluice/model/serving";
import type { Counter, CounterResult, FleetFallback } from "@sluice/plugin-sdk";
import type { LeaseMemory, WorkerLease } from "../counters/fleet/lessee/lease-words.ts";
import type { ReportedCounter, SavedCounter } from "../counters/fleet/messages.ts";
import { FleetMember, type FleetMemberOptions } from "./fleet-member.ts";

/** Milliseconds for which a node that shuts down waits for a new view, or for another node to take over more counters. */
const RETIRE_PATIENCE = 3000;
/** Maximum milliseconds of both; less than what Kubernetes grants a Pod by default. */
const RETIRE_WITHIN = 20_000;

/** Milliseconds after the start for which a node that is no member of a view is not ready, and lets requests wait. */
const FIRST_VIEW_PATIENCE = 5000;

export class FleetPeer {
  readonly #self: string;
  readonly #member: FleetMember;
  /** Dispatches `view` when a view was adopted, and `state` when the state of this node has changed. */
  readonly changes = new EventTarget();
  /** Resolves with the first view of which this node is a member, or after FIRST_VIEW_PATIENCE. */
  readonly #begun = Promise.withResolvers<void>();
  #hasBegun = false;
  #view: PublishedView | undefined;
  #state: PeerReport["state"] = "present";

  private constructor(self: string, member: FleetMember) {
    this.#self = self;
    this.#member = member;
    setTimeout(() => this.#begin(), FIRST_VIEW_PATIENCE).unref();
  }

  /** Rejects when the address for peers cannot be listened on. */
  static async open(options: FleetMemberOptions): Promise<FleetPeer> {
    return new FleetPeer(options.self, await FleetMember.open(options));
  }

  get address(): { readonly host: string; readonly port: number } {
    return this.#member.address;
  }

  get state(): PeerReport {
    const { port } = this.#member.address;
    return { name: this.#self, port, epoch: this.#view?.epoch ?? 0, state: this.#state };
  }

  /** The view that the node has adopted; undefined before the first. */
  get view(): PublishedView | undefined {
    return this.#view;
  }

  /** For administrators. */
  get report(): { readonly epoch: number; readonly members: readonly string[]; readonly leaving: readonly string[] } {
    const { epoch, members, leaving } = this.#view ?? { epoch: 0, members: [], leaving: [] };
    const namesOf = (nodes: PublishedView["members"]) => nodes.map(({ name }) => name);
    return { epoch, members: namesOf(members), leaving: namesOf(leaving) };
  }

  /**
   * Why the node should get no requests yet; null: it may. Before it is a member of a view, it does not know the owners of
   * counters, and would decide by the setting for counters without an owner.
   */
  get unreadyReason(): string | null {
    return this.#hasBegun ? null : "the node does not know the other nodes of its fleet yet";
  }

  /** Adopts a view if it is newer than the present one. */
  publish(view: PublishedView): void {
    if (this.#view !== undefined && view.epoch <= this.#view.epoch) return;
    this.#view = view;
    const [members, leaving] = [view.members, view.leaving].map((nodes) => nodes.map(({ name }) => name));
    this.#member.adopt({ epoch: view.epoch, members: members ?? [], leaving: leaving ?? [] }, [
      ...view.members,
      ...view.leaving,
    ]);
    this.changes.dispatchEvent(new Event("view"));
    // A node that has just started adopts a view that does not know it yet, and would have no tokens.
    if (members?.includes(this.#self)) this.#begin();
  }

  /** Uses these certificates for new connections. */
  renew(tls: PemTexts): void {
    this.#member.renew(tls);
  }

  /** Where the workers of this node find the tokens that it holds. */
  get memory(): LeaseMemory {
    return this.#member.memory;
  }

  /** See FleetMember. */
  placeOf(counter: Counter): WorkerLease | undefined {
    return this.#member.placeOf(counter);
  }

  /** See FleetMember. */
  refill(counter: Counter): void {
    this.#member.refill(counter);
  }

  /** As `Counters.incrementBelowLimit`, for counters with the same `amount`. */
  take(counters: readonly Counter[], unowned: FleetFallback): CounterResult | Promise<CounterResult> {
    if (this.#hasBegun) return this.#member.take(counters, unowned);
    return this.#begun.promise.then(() => this.#member.take(counters, unowned));
  }

  /** As `Counters.addAmount`, for one counter. */
  add(counter: Counter, amount: number): Promise<number> {
    if (this.#hasBegun) return this.#member.add(counter, amount);
    return this.#begun.promise.then(() => this.#member.add(counter, amount));
  }

  /** See FleetLimiter. */
  restore(counters: readonly ReportedCounter[]): void {
    this.#member.restore(counters);
  }

  /** See FleetLimiter. */
  takeUnsaved(most: number): readonly SavedCounter[] {
    return this.#member.takeUnsaved(most);
  }

  /** The next view should list this node as leaving. It still serves requests. */
  leave(): void {
    this.#enter("leaving");
  }

  /**
   * Gives all tokens back, and hands over what this node knows. Resolves when it has left the fleet, when no member is
   * left, or after RETIRE_PATIENCE without progress. Requests are refused from now on.
   */
  async retire(): Promise<void> {
    this.#enter("leaving");
    const others = this.#view?.members.filter(({ name }) => name !== this.#self) ?? [];
    if (others.length === 0) {
      // No other node takes over anything, but what this node saves must not contain tokens that it has not spent.
      void this.#member.retire();
      return;
    }
    const { signal: patience, end } = this.#patience();
    try {
      await this.#viewWith((view) => !view.members.some(({ name }) => name === this.#self), patience);
      if (this.#view?.members.length === 0) return;
      await Promise.race([this.#member.retire(), once(patience, "abort")]);
      patience.throwIfAborted();
      this.#enter("left");
      // Until then, a node that has just joined would wait for a report of this node.
      await this.#viewWith((view) => !view.leaving.some(({ name }) => name === this.#self), patience);
    } catch (error) {
      // The other nodes treat this node like one that has crashed.
      if (!patience.aborted) throw error;
    } finally {
      end();
    }
  }

  async close(): Promise<void> {
    await this.#member.close();
  }

  #enter(state: PeerReport["state"]): void {
    if (this.#state === state) return;
    this.#state = state;
    this.changes.dispatchEvent(new Event("state"));
  }

  #begin(): void {
    this.#hasBegun = true;
    this.#begun.resolve();
  }

  /** A signal that is aborted when no other node has taken over anything for RETIRE_PATIENCE, or after RETIRE_WITHIN. */
  #patience(): { readonly signal: AbortSignal; end(): void } {
    const controller = new AbortController();
    const startedAt = performance.now();
    const check = () => {
      const progressAt = Math.max(startedAt, this.#member.handedOverAt);
      const left = Math.min(progressAt + RETIRE_PATIENCE, startedAt + RETIRE_WITHIN) - performance.now();
      if (left <= 0) controller.abort();
      else timer = setTimeout(check, left);
    };
    let timer = setTimeout(check, RETIRE_PATIENCE);
    return { signal: controller.signal, end: () => clearTimeout(timer) };
  }

  /** Rejects when the signal is aborted. */
  async #viewWith(isReached: (view: PublishedView) => boolean, signal: AbortSignal): Promise<void> {
    while (this.#view !== undefined && !isReached(this.#view)) await once(this.changes, "view", { signal });
  }
}
