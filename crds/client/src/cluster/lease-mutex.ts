/**
 * One writer after the other among several processes, by a Lease. It is kept for a moment after a
 * write, so that the next one costs nothing, and given back when there is none; one whose holder has died is waited out.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { Conflict, type MutexHold, type Resource, type ResourceClient } from "../resource.ts";
import { microTime } from "./event-recorder.ts";
import type { Clock } from "./watch/reflector.ts";

export interface LeaseMutexOptions {
  readonly client: Pick<ResourceClient, "get" | "apply">;
  readonly namespace: string;
  readonly name: string;
  readonly clock: Clock;
}

export interface LeaseMutex {
  run<Result>(run: (acquireHold: MutexHold) => Promise<Result>): Promise<Result>;
  /** Gives the Lease back once all turns so far are over. */
  close(): Promise<void>;
}

/**
 * Seconds that a Lease lasts when its holder says nothing more. Clients give a request 10 s as a rule, decK among them:
 * a write that waits for a writer who died must be answered within them.
 */
const LEASE_SECONDS = 5;
/** Milliseconds. */
const renewEvery = (LEASE_SECONDS * 1000) / 4;
const idle = 500;
/** Others get their turn after this long, however much there is to write here. */
const maxHold = 2000;
const yieldPause = 100;
const pollInterval = 50;
/** A little longer than the Lease of somebody who died. */
const acquireTimeout = LEASE_SECONDS * 1000 + 10_000;

interface Held {
  readonly lease: Resource;
  readonly since: number;
  /** By our own clock. */
  readonly renewed: number;
}

export function createLeaseMutex({ client, namespace, name, clock }: LeaseMutexOptions): LeaseMutex {
  const ref = { kind: "Lease", namespace, name } as const;
  const holder = `${hostname()}_${randomUUID()}`;
  const closing = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  let held: Held | undefined;
  let left: Resource | undefined;
  let resting: NodeJS.Timeout | undefined;

  const isHeld = (): boolean => held !== undefined && clock.now() - held.renewed < (LEASE_SECONDS * 1000) / 2;

  async function put(before: Resource | null, holderIdentity: string): Promise<Resource> {
    const now = microTime(new Date());
    const spec = before?.spec ?? {};
    const changes = holderIdentity !== "" && spec.holderIdentity !== holderIdentity;
    const transitions = typeof spec.leaseTransitions === "number" ? spec.leaseTransitions : 0;
    const { uid = "", resourceVersion = "" } = before?.metadata ?? {};
    return client.apply(
      "Lease",
      {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { namespace, name },
        spec: {
          holderIdentity,
          leaseDurationSeconds: LEASE_SECONDS,
          acquireTime: changes ? now : (spec.acquireTime ?? now),
          renewTime: now,
          leaseTransitions: transitions + (changes ? 1 : 0),
        },
      },
      { manager: "sluice-admin", force: true, expect: before ? { uid, resourceVersion } : "absent" },
    );
  }

  /** Waits until nobody has it. Whether others may have had it since we did. */
  async function acquire(): Promise<boolean> {
    const began = clock.now();
    let seen: { readonly version: string | undefined; readonly at: number } | undefined;
    for (;;) {
      const lease = await client.get(ref);
      const now = clock.now();
      const version = lease?.metadata.resourceVersion;
      if (!seen || seen.version !== version) seen = { version, at: now };
      const { holderIdentity = "", leaseDurationSeconds = LEASE_SECONDS } = Object(lease?.spec) as {
        holderIdentity?: string;
        leaseDurationSeconds?: number;
      };
      const isFree = holderIdentity === "" || holderIdentity === holder;
      if (isFree || now - seen.at >= leaseDurationSeconds * 1000) {
        try {
          const taken = await put(lease, holder);
          held = { lease: taken, since: now, renewed: now };
          const { uid, resourceVersion } = left?.metadata ?? {};
          return !lease || lease.metadata.uid !== uid || version !== resourceVersion;
        } catch (error) {
          // Somebody was faster.
          if (!(error instanceof Conflict)) throw error;
        }
      } else if (now - began > acquireTimeout) {
        throw new Error(`${holderIdentity} has held the Lease ${namespace}/${name} for ${acquireTimeout / 1000} s`);
      }
      closing.signal.throwIfAborted();
      await clock.sleep(pollInterval * (0.5 + clock.random()), closing.signal);
    }
  }

  /** A Lease that is lost is no fault of the writes under way: every object has its own precondition. */
  async function renew(): Promise<void> {
    const before = held;
    if (!before) return;
    const now = clock.now();
    const lease = await put(before.lease, holder).catch(() => undefined);
    if (held === before) held = lease && { ...before, lease, renewed: now };
  }

  async function release(): Promise<void> {
    const before = held;
    held = undefined;
    left = before && (await put(before.lease, "").catch(() => undefined));
  }

  async function turn(): Promise<MutexHold> {
    if (isHeld()) return { othersMayHaveWritten: false, isHeld };
    held = undefined;
    return { othersMayHaveWritten: await acquire(), isHeld };
  }

  async function releaseOrLinger(): Promise<void> {
    if (held && clock.now() - held.since > maxHold) {
      await release();
      if (waiting > 0) await clock.sleep(yieldPause, closing.signal);
    } else if (waiting === 0) {
      resting = setTimeout(() => {
        last = last.then(() => (waiting === 0 ? release() : undefined));
      }, idle);
      resting.unref();
    }
  }

  return {
    run(run) {
      waiting++;
      clearTimeout(resting);
      const mine = last.then(async () => {
        let renewing: NodeJS.Timeout | undefined;
        try {
          const taken = await turn();
          renewing = setInterval(() => void renew(), renewEvery);
          return await run(taken);
        } finally {
          clearInterval(renewing);
          waiting--;
        }
      });
      last = mine.then(releaseOrLinger, releaseOrLinger);
      return mine;
    },
    async close() {
      clearTimeout(resting);
      closing.abort();
      await last;
      await release();
    },
  };
}
