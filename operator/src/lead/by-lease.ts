/**
 * Leads while it holds a Lease. It is renewed again and again; when that fails for long, this process stops leading
 * before another can begin. What it pushed just then is harmless: nodes take nothing of a term that is over.
 */
import { Conflict, Fault, type LeaseRecord, type LeaseStore, orAborted, type SeenLease } from "@sluice/crds";
import type { Logger } from "pino";
import { claim, type Look, looked, type Timing, waitFor } from "./election.ts";
import type { LeadHooks, StartLead } from "./lead.ts";

/** Milliseconds that never go back. */
export interface LeadClock {
  now(): number;
  /** Resolves early, and never rejects, when the signal aborts. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
}

export interface ByLeaseOptions {
  /** Closed with the lead. */
  readonly store: LeaseStore;
  /** Another for all that run at a time; who is started again under the same leads again at once. */
  readonly me: string;
  readonly timing: Timing;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly clock: LeadClock;
}

interface Held {
  readonly lease: SeenLease;
  /** When its last renewal was begun. */
  readonly renewed: number;
}

/** Milliseconds without any answer after which the Lease is not given back: whoever ends this process waits for it. */
const UNANSWERED = 3500;
/** Milliseconds that one attempt to give it back may take, and that lie between two. */
const ATTEMPT = 1200;
const BETWEEN = 250;

export function leadByLease(options: ByLeaseOptions): StartLead {
  return (hooks) => start(options, hooks);
}

function start({ store, me, timing, log, clock }: ByLeaseOptions, { floor, onTerm, onReached }: LeadHooks) {
  const closing = new AbortController();
  let held: Held | null = null;
  let look: Look | null = null;
  let highest = 0;
  let told: number | null = null;
  let trouble = "";
  /** No answer came, not even a refusal. */
  let isCutOff = false;
  let wake = new AbortController();

  function term(): number | null {
    return held && clock.now() - held.renewed < timing.renewDeadline ? held.lease.transitions : null;
  }

  function tell(): void {
    const now = term();
    if (now === told) return;
    if (now === null) {
      const message = "does not lead any more";
      // Who ends in order wants to lead no more.
      if (closing.signal.aborted) log.info({ term: told }, message);
      else log.warn({ term: told, leader: look?.lease?.holder ?? null }, message);
    } else log.info({ term: now }, "leads from now on");
    told = now;
    onTerm(now);
  }

  /** A call may take no longer than the time in which it is of use. */
  function within(milliseconds: number): AbortSignal {
    return AbortSignal.any([closing.signal, AbortSignal.timeout(Math.max(1, Math.ceil(milliseconds)))]);
  }

  async function write(record: LeaseRecord, before: SeenLease | null): Promise<void> {
    const begun = clock.now();
    const left = held ? held.renewed + timing.renewDeadline - begun : timing.renewDeadline;
    const lease = await store.write(record, { before, signal: within(left) });
    held = { lease, renewed: begun };
    look = looked(look, lease, begun);
  }

  async function renew({ lease }: Held): Promise<void> {
    await write(claim(lease, { me, duration: timing.duration, renews: true, floor: highest }), lease);
  }

  async function attempt(): Promise<void> {
    const lease = await store.read(within(timing.renewDeadline));
    look = looked(look, lease, clock.now());
    if (held && lease?.holder !== me) held = null;
    if (waitFor(look, { me, now: clock.now() }) > 0) return;
    const known = Math.max(highest, await orAborted(floor(), closing.signal));
    await write(claim(lease, { me, duration: timing.duration, renews: held !== null, floor: known }), lease);
  }

  async function step(): Promise<void> {
    try {
      // Whoever has held it for too long without a renewal looks first who has it now.
      await (held && term() !== null ? renew(held).catch(lookAgain) : attempt());
      trouble = "";
      reached();
    } catch (error) {
      if (closing.signal.aborted || error instanceof Conflict) return;
      const { message } = error as Error;
      if (message !== trouble) log.warn({ reason: message }, "cannot read or write the Lease, trying again");
      trouble = message;
      if (error instanceof Fault) reached();
      else isCutOff = true;
    }
  }

  function reached(): void {
    if (isCutOff) onReached?.();
    isCutOff = false;
  }

  /** A write whose answer was lost, or another holder: reading tells which. */
  function lookAgain(error: unknown): Promise<void> {
    if (error instanceof Conflict) return attempt();
    throw error;
  }

  /** Until the next step: sooner when the Lease can be taken sooner, or when the lead ends before. */
  function pause(): number {
    if (held) return Math.min(timing.retry, Math.max(0, held.renewed + timing.renewDeadline - clock.now()));
    return Math.min(timing.retry, (look && waitFor(look, { me, now: clock.now() })) || timing.retry);
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await step();
      if (term() === null && held && clock.now() - held.renewed >= timing.renewDeadline) held = null;
      tell();
      await clock.sleep(pause(), AbortSignal.any([closing.signal, wake.signal]));
      if (wake.signal.aborted) wake = new AbortController();
    }
  }

  /**
   * Others wait until the Lease has run out otherwise, and nodes hear of nothing meanwhile. An API server that answers is
   * asked again for as long as a renewal may take, and one that does not answer for a shorter time.
   */
  async function release(): Promise<void> {
    let mine: SeenLease | null = held?.lease ?? null;
    const isHeld = mine !== null;
    held = null;
    tell();
    const until = clock.now() + timing.renewDeadline;
    let answered = clock.now();
    while (isHeld) {
      const left = Math.min(until, answered + UNANSWERED) - clock.now();
      const signal = AbortSignal.timeout(Math.max(1, Math.min(ATTEMPT, timing.retry, Math.ceil(left))));
      try {
        mine ??= await store.read(signal);
        if (mine?.holder === me) await store.write({ ...mine, holder: "" }, { before: mine, signal });
        return;
      } catch (error) {
        // What had no answer, or the renewal that was cut off, may have come through.
        mine = null;
        if (error instanceof Conflict || error instanceof Fault) answered = clock.now();
        if (clock.now() + BETWEEN >= Math.min(until, answered + UNANSWERED)) {
          const { message } = error as Error;
          log.warn({ reason: message }, "cannot give the Lease back: others will wait until it has run out");
          return;
        }
        await clock.sleep(BETWEEN, new AbortController().signal);
      }
    }
  }

  const done = run();
  return {
    term,
    leader: () => look?.lease?.holder || null,
    outranked(other: number) {
      if (other < highest) return;
      highest = other;
      wake.abort();
    },
    async close() {
      closing.abort();
      await done;
      await release();
      await store.close();
    },
  };
}
