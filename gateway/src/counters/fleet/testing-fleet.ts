/** A simulated fleet: processes that run the protocol on a simulated network, and the authority that lists them. */
import type { Counter, CounterResult, FleetFallback } from "@sluice/plugin-sdk";
import { chargedTokens, counterId } from "./accounts.ts";
import { RETRY } from "./fleet-clock.ts";
import { FleetLimiter } from "./fleet-limiter.ts";
import type { ReportedCounter } from "./messages.ts";
import { EventQueue, type NetworkOptions, SimulatedNetwork } from "./testing-network.ts";
import type { FleetView } from "./view.ts";

/** What happened with the requests of one counter in one window. All numbers are tokens. */
export interface CounterTally {
  limit: number;
  requests: number;
  served: number;
  /** Requests that were served by processes that have ended. */
  servedByEnded: number;
  borrowed: number;
  overshoot: number;
  /** Amounts that were added whatever the limit, and those by processes that have ended. */
  added: number;
  addedByEnded: number;
  /** Tokens of processes that ended together which were not saved. */
  lost: number;
  /** The value that the fleet has told last. */
  read: number;
}

export interface SimulatedProcess {
  readonly name: string;
  readonly node: FleetLimiter;
  /** Milliseconds by which its clock is ahead. */
  readonly skew: number;
  readonly served: Map<string, number>;
  readonly added: Map<string, number>;
  isRunning: boolean;
  epoch: number;
  /** The simulated time of the next tick; Infinity: none is planned. */
  ticksAt: number;
}

export interface SimulatedFleetOptions extends Omit<NetworkOptions, "queue"> {
  readonly unowned: FleetFallback;
  /** Maximum milliseconds until a process has a new view. */
  readonly viewDelay: number;
  /** Called after each request that was served. */
  readonly onServed?: (counters: readonly Counter[]) => void;
}

/** Maximum milliseconds by which ticks are late. */
const MAX_LATENESS = 5;

/** The time at which simulations begin. */
export const SIMULATION_START = Date.UTC(2026, 0, 1);

export class SimulatedFleet {
  readonly queue = new EventQueue();
  readonly network: SimulatedNetwork;
  readonly processes = new Map<string, SimulatedProcess>();
  readonly tallies = new Map<string, CounterTally>();
  /** What the processes have saved, by the id of the counter. */
  readonly saved = new Map<string, ReportedCounter>();
  incompleteHandovers = 0;
  replaced = 0;
  readonly #options: SimulatedFleetOptions;
  readonly #waiting = new Map<number, { readonly by: SimulatedProcess; decide(result: CounterResult): void }>();
  readonly #flushing = new Set<SimulatedProcess>();
  #requests = 0;
  #view: FleetView = { epoch: 0, members: [], leaving: [] };

  constructor(options: SimulatedFleetOptions) {
    this.#options = options;
    this.network = new SimulatedNetwork({ ...options, queue: this.queue });
  }

  get view(): FleetView {
    return this.#view;
  }

  /** Number of requests that were not decided. */
  get undecided(): number {
    return this.#waiting.size;
  }

  tally({ limit, ...counter }: Counter): CounterTally {
    const id = counterId({ limit, ...counter });
    const known = this.tallies.get(id);
    if (known !== undefined) return known;
    const ofProcesses = { served: 0, servedByEnded: 0, added: 0, addedByEnded: 0 };
    const tally = { limit, requests: 0, ...ofProcesses, lost: 0, borrowed: 0, overshoot: 0, read: 0 };
    this.tallies.set(id, tally);
    return tally;
  }

  start(name: string, { skew = 0, capacity }: { skew?: number; capacity?: number } = {}): SimulatedProcess {
    const { queue } = this;
    const node = new FleetLimiter({
      self: name,
      clock: { now: () => queue.time, wallTime: () => SIMULATION_START + queue.time + skew },
      send: (peer, message) =>
        this.network.send(name, peer, () => {
          const receiver = this.processes.get(peer);
          if (receiver?.isRunning) this.#act(receiver, () => receiver.node.receive(name, message));
        }),
      onDecision: (id, result) => {
        this.#waiting.get(id)?.decide(result);
        this.#waiting.delete(id);
      },
      events: {
        onOvershoot: (counter, tokens) => {
          this.tally(counter).overshoot += tokens;
        },
        onBorrow: (counter, tokens) => {
          this.tally(counter).borrowed += tokens;
        },
        onIncompleteHandover: () => {
          this.incompleteHandovers += 1;
        },
        onReplace: () => {
          this.replaced += 1;
        },
      },
      ...(capacity !== undefined && { capacity }),
    });
    const started: SimulatedProcess = {
      name,
      node,
      skew,
      served: new Map(),
      added: new Map(),
      isRunning: true,
      epoch: 0,
      ticksAt: Number.POSITIVE_INFINITY,
    };
    this.processes.set(name, started);
    return started;
  }

  /** The authority lists the nodes; isolated processes do not learn of it until `heal`. */
  publish(members: readonly string[], leaving: readonly string[] = []): void {
    this.#view = { epoch: this.#view.epoch + 1, members, leaving };
    const view = this.#view;
    for (const each of this.processes.values()) {
      this.queue.after(this.#options.random() * this.#options.viewDelay, () => {
        if (!this.network.isolated.has(each.name)) this.#adopt(each, view);
      });
    }
  }

  /** Ends the partition: isolated processes adopt the present view. */
  heal(): void {
    const isolated = this.network.isolated;
    this.network.isolated = new Set();
    for (const name of isolated) {
      const each = this.processes.get(name);
      if (each !== undefined) this.#adopt(each, this.#view);
    }
  }

  /** The process ends, without notice. */
  end(each: SimulatedProcess): void {
    each.isRunning = false;
    for (const [id, { by }] of this.#waiting) if (by === each) this.#waiting.delete(id);
    for (const [id, tally] of this.tallies) {
      tally.servedByEnded += each.served.get(id) ?? 0;
      tally.addedByEnded += each.added.get(id) ?? 0;
    }
  }

  /** Sends a request to a process; it may be decided later. */
  request(each: SimulatedProcess, counters: readonly Counter[]): void {
    for (const counter of counters) this.tally(counter).requests += counter.amount ?? 1;
    const id = this.#requests++;
    const decide = ({ admitted }: CounterResult) => {
      if (!admitted) return;
      for (const counter of counters) {
        const { amount = 1 } = counter;
        this.tally(counter).served += amount;
        const name = counterId(counter);
        each.served.set(name, (each.served.get(name) ?? 0) + amount);
      }
      this.#options.onServed?.(counters);
    };
    this.#act(each, () => {
      const result = each.node.take(id, counters, this.#options.unowned);
      if (result === undefined) this.#waiting.set(id, { by: each, decide });
      else decide(result);
    });
  }

  /** Adds an amount to a counter whatever its limit; 0: only reads it. */
  add(each: SimulatedProcess, counter: Counter, amount: number): void {
    const tally = this.tally(counter);
    const id = counterId(counter);
    tally.added += amount;
    each.added.set(id, (each.added.get(id) ?? 0) + amount);
    this.#act(each, () =>
      each.node.add(counter, amount, (value) => {
        tally.read = value;
      }),
    );
  }

  /** Saves what has changed at this process. */
  save(each: SimulatedProcess): void {
    for (const report of each.node.takeUnsaved(1000)) this.saved.set(counterId(report.counter), report);
  }

  /** A process that was just started restores what was saved. */
  restore(each: SimulatedProcess): void {
    this.#act(each, () => each.node.restore([...this.saved.values()]));
  }

  /** All processes end, without notice. */
  endAll(): void {
    for (const each of this.processes.values()) if (each.isRunning) this.end(each);
    for (const [id, tally] of this.tallies) {
      const accounts = this.saved.get(id)?.accounts ?? [];
      const known = accounts.reduce((sum, [, account]) => sum + chargedTokens(account), 0);
      tally.lost += Math.max(0, tally.served - known);
    }
  }

  retire(each: SimulatedProcess): void {
    this.#act(each, () => each.node.retire());
  }

  /** Calls `action` when the process has the present view, and all others know what it knew. */
  whenDismissed(each: SimulatedProcess, action: () => void): void {
    const { epoch } = this.#view;
    const check = () => {
      if (each.epoch >= epoch && each.node.isDismissed) action();
      else if (each.isRunning) this.queue.after(RETRY, check);
    };
    check();
  }

  #adopt(each: SimulatedProcess, view: FleetView): void {
    if (!each.isRunning) return;
    each.epoch = Math.max(each.epoch, view.epoch);
    this.#act(each, () => each.node.adopt(view));
  }

  /** All actions of one time are a turn of the event loop, after which the messages leave. */
  #act(each: SimulatedProcess, action: () => void): void {
    action();
    this.#planTick(each);
    if (this.#flushing.has(each)) return;
    this.#flushing.add(each);
    this.queue.after(0, () => {
      this.#flushing.delete(each);
      if (each.isRunning) each.node.flush();
    });
  }

  #planTick(each: SimulatedProcess): void {
    const { node, skew } = each;
    const untilEnd = node.nextEnd - (SIMULATION_START + this.queue.time + skew);
    // Timers of a busy process are late.
    const delay = (node.isWaiting ? RETRY : Math.max(RETRY, untilEnd)) + this.#options.random() * MAX_LATENESS;
    const at = this.queue.time + delay;
    if (at >= each.ticksAt) return;
    each.ticksAt = at;
    this.queue.after(delay, () => {
      if (each.ticksAt !== at || !each.isRunning) return;
      each.ticksAt = Number.POSITIVE_INFINITY;
      this.#act(each, () => node.tick());
    });
  }
}
