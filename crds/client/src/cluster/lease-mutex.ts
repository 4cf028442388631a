/**
 * A mutex across processes, based on a Lease. The holder keeps the Lease for a moment after a write, so that its next
 * write needs no request, and releases it when idle. The Lease of a dead holder expires.
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
  /** Releases the Lease once all runs requested so far have ended. */
  close(): Promise<void>;
}

/**
 * Seconds after which a Lease that was not renewed expires. Clients such as decK usually time out after 10 s: a write
 * that waits for a dead writer's Lease must complete within that time.
 */
const LEASE_SECONDS = 5;
/** Milliseconds. */
const renewEvery = (LEASE_SECONDS * 1000) / 4;
const idle = 500;
/** Milliseconds after which other processes get the Lease, however many writes wait here. */
const maxHold = 2000;
const yieldPause = 100;
const pollInterval = 50;
/** Milliseconds; longer than the Lease of a dead holder lasts. */
const acquireTimeout = LEASE_SECONDS * 1000 + 10_000;

interface Held {
  readonly lease: Resource;
  readonly since: number;
  /** On this process's clock. */
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

  /**
   * Waits until the Lease is free and acquires it. True if another process may have held it since this one last did.
   */
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
          // Another process was faster.
          if (!(error instanceof Conflict)) throw error;
        }
      } else if (now - began > acquireTimeout) {
        throw new Error(`${holderIdentity} has held the Lease ${namespace}/${name} for ${acquireTimeout / 1000} s`);
      }
      closing.signal.throwIfAborted();
      await clock.sleep(pollInterval * (0.5 + clock.random()), closing.signal);
    }
  }

  /** Losing the Lease does not fail the writes under way: every object has its own precondition. */
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
