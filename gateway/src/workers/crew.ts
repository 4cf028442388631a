/**
 * Several workers, each in a thread of its own, that listen on the same addresses: the system shares connections out
 * among them. The control thread checks documents, hands over what changed, and keeps the health of targets; what a
 * worker finds out about a target it tells the control thread, which tells the others.
 */
import { changeBetween, emptySnapshot, type Snapshot } from "@sluice/model/serving";
import type { HealthUpdate } from "../balance/balancer.ts";
import { healthy } from "../balance/health.ts";
import { Balancers } from "../compile/balancers.ts";
import type { Part } from "../plugins/prometheus/slices.ts";
import { createCountersMemory } from "../plugins/rate-limiting/shared.ts";
import { mergeRefused } from "../proxy/upstream/refused-destinations.ts";
import { SettingsError } from "../settings/error.ts";
import { gatewaySettings as names } from "../settings/gateway.ts";
import { type BeatOptions, createBeats, Heartbeats } from "./heartbeat.ts";
import type { Step } from "./messages.ts";
import { requireFree } from "./require-free.ts";
import { Retired } from "./retired.ts";
import { createPlacesMemory, leaveAll, type PlacesMemory } from "./shared-places.ts";
import type { StartOptions } from "./start.ts";
import { type Addresses, ThreadHandle } from "./thread-handle.ts";
import { addConnections, type Workers, type WorkersReport } from "./workers.ts";

/** Milliseconds after which a thread that ends has not failed again, but anew: then it is started again at once. */
const LIVED = 10_000;
/** Milliseconds between the second end in a row and the next start; doubled with each further one, up to the most. */
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 10_000;

/** Workers that can be looked at one by one. */
export interface Crew extends Workers {
  /** Those that are there now. */
  threads(): readonly ThreadHandle[];
  counted(): Promise<AsyncIterable<Part>>;
}

/** Rejects when an address cannot be listened on. */
export async function startCrew(count: number, options: StartOptions): Promise<Crew> {
  const { plan } = options;
  // With reusePort a second process would get a part of the connections instead of an error.
  for (const address of [plan.listen, plan.listenTls]) if (address) await requireFree(address);
  const crew = new ThreadCrew(count, options);
  try {
    await crew.start(count);
  } catch (error) {
    await crew.end();
    throw (error as { readonly code?: string }).code === "ENOTSUP"
      ? new SettingsError(`${names.workers.variable}: this system cannot share an address among threads; set it to 1`)
      : error;
  }
  return crew;
}

class ThreadCrew implements Crew {
  readonly #options: StartOptions;
  readonly #memory = createCountersMemory();
  readonly #places: PlacesMemory;
  readonly #heart: BeatOptions;
  readonly #heartbeats: Heartbeats;
  readonly #threads = new Map<number, ThreadHandle>();
  readonly #retired = new Retired();
  /** Starts that are waited for, by number. */
  readonly #pauses = new Map<number, NodeJS.Timeout>();
  #addresses: Addresses | undefined;
  #balancers = Balancers.empty;
  #wanted: Snapshot = emptySnapshot;
  #ending = false;

  constructor(count: number, options: StartOptions) {
    this.#options = options;
    this.#places = createPlacesMemory(count, options.plan.settings);
    this.#heart = { beats: createBeats(count), patience: options.workerTimeout };
    this.#heartbeats = new Heartbeats(this.#heart, (number) => {
      const reason = new Error(`its event loop has not turned for ${options.workerTimeout} ms`);
      void this.#threads.get(number)?.terminate(reason);
    });
  }

  get address() {
    return this.#started.address;
  }

  get tlsAddress() {
    return this.#started.tlsAddress;
  }

  get #started(): Addresses {
    if (this.#addresses === undefined) throw new Error("the crew has not started");
    return this.#addresses;
  }

  threads = (): readonly ThreadHandle[] => [...this.#threads.values()];

  /** The first one's free ports are those of all. */
  async start(count: number): Promise<void> {
    this.#addresses = await this.#open(1, 0).started;
    await Promise.all(Array.from({ length: count - 1 }, (_, index) => this.#open(index + 2, 0).started));
  }

  async serve(snapshot: Snapshot): Promise<void> {
    const [before, balancers] = [this.#wanted, this.#balancers];
    this.#wanted = snapshot;
    this.#balancers = balancers.with(snapshot, {
      onHealthTransition: this.#options.onHealthTransition,
      onHealthUpdate: (news) => {
        for (const thread of this.threads()) thread.adopt(news);
      },
    });
    const error = await this.#follow(snapshot);
    if (error === null) return;
    this.#wanted = before;
    this.#balancers = balancers;
    await this.#follow(before);
    throw error;
  }

  balancers = () => this.#balancers.all;

  async report(): Promise<WorkersReport> {
    await Promise.all(this.threads().map((thread) => thread.askReport()));
    const reports = this.threads().flatMap(({ report }) => report ?? []);
    return {
      connections: addConnections([this.#retired.connections, ...reports.map(({ connections }) => connections)]),
      heap: {
        total: reports.reduce((sum, { heap }) => sum + heap.total, 0),
        used: reports.reduce((sum, { heap }) => sum + heap.used, 0),
        clients: reports.reduce((sum, { heap }) => sum + heap.clients, 0),
      },
      refused: mergeRefused(reports.map(({ refused }) => refused)),
    };
  }

  async counted(): Promise<AsyncIterable<Part>> {
    await Promise.all(this.threads().map((thread) => thread.askCount()));
    return this.#parts();
  }

  runtimes = () => this.threads().flatMap(({ runtime }) => runtime);

  async *#parts(): AsyncGenerator<Part> {
    yield* this.#retired.parts();
    for (const thread of this.threads()) yield* thread.parts;
  }

  trouble(): string | null {
    return this.#threads.size === 0 ? "no worker is running" : null;
  }

  reopenLogs(): void {
    for (const thread of this.threads()) thread.reopenLogs();
  }

  async close(options: { readonly deadline: number }): Promise<void> {
    this.#stopStarting();
    await Promise.all(this.threads().map((thread) => thread.close(options)));
    await this.#options.clusterCounters?.close();
  }

  async end(): Promise<void> {
    this.#stopStarting();
    await Promise.all(this.threads().map((thread) => thread.terminate()));
  }

  #stopStarting(): void {
    this.#ending = true;
    this.#heartbeats.close();
    for (const timer of this.#pauses.values()) clearTimeout(timer);
  }

  /** @param failures How often in a row the thread of this number has ended soon. */
  #open(number: number, failures: number): ThreadHandle {
    const began = performance.now();
    const thread = new ThreadHandle({
      start: {
        number,
        plan: this.#plan(),
        memory: this.#memory,
        places: this.#places,
        heart: this.#heart,
        metrics: this.#options.metricsOptions,
        logging: { level: this.#options.log.level, bindings: this.#options.log.bindings() },
        countsInCluster: this.#options.clusterCounters !== undefined,
        document: stepBetween(emptySnapshot, this.#wanted),
        health: this.#health(),
      },
      snapshot: this.#wanted,
      onHealthUpdate: (news) => this.#judge(news),
      clusterCounters: this.#options.clusterCounters,
    });
    this.#threads.set(number, thread);
    thread.started.then(() => this.#heartbeats.watch(number)).catch(() => undefined);
    void thread.ended.then((reason) => {
      this.#threads.delete(number);
      this.#heartbeats.forget(number);
      this.#retired.add(thread.report, thread.parts);
      leaveAll(this.#places, number);
      if (this.#ending) return;
      const again = performance.now() - began < LIVED ? failures + 1 : 1;
      const pause = again === 1 ? 0 : Math.min(FIRST_PAUSE * 2 ** (again - 2), LONGEST_PAUSE);
      this.#options.log.error({ err: reason, worker: number, pause }, "a worker has ended and is started again");
      this.#pauses.set(
        number,
        setTimeout(() => this.#open(number, again), pause),
      );
    });
    return thread;
  }

  #plan(): StartOptions["plan"] {
    const { plan } = this.#options;
    if (this.#addresses === undefined) return plan;
    return { ...plan, listen: this.#addresses.address, listenTls: this.#addresses.tlsAddress };
  }

  /** The first error. */
  async #follow(snapshot: Snapshot): Promise<Error | null> {
    /** As a rule all threads need the same one. It is not kept: it may be all that there is, and all that there was. */
    let last: { readonly from: Snapshot; readonly step: Step } | null = null;
    const stepFrom = (from: Snapshot): Step => {
      if (last?.from !== from) last = { from, step: stepBetween(from, snapshot) };
      return last.step;
    };
    const errors = await Promise.all(this.threads().map((thread) => thread.follow(snapshot, stepFrom)));
    return errors.find((error) => error !== null) ?? null;
  }

  /** A sign that a worker has seen counts for all. */
  #judge({ upstreamId, targetId, address, sign }: HealthUpdate): void {
    const balancer = this.#balancers.all.get(upstreamId);
    const member = balancer?.member(targetId, address);
    if (balancer && member && sign !== null) balancer.applySignal(member, sign, balancer.passive);
  }

  #health(): readonly HealthUpdate[] {
    return this.#balancers.all
      .values()
      .flatMap(({ upstream, entries }) =>
        entries
          .filter(({ member }) => member.health !== healthy)
          .map(({ member }) => ({
            upstreamId: upstream.id,
            targetId: member.id,
            address: member.address,
            state: member.health,
            sign: null,
          })),
      )
      .toArray();
  }
}

const stepBetween = (from: Snapshot, to: Snapshot): Step => ({ change: changeBetween(from, to), hash: to.hash });
