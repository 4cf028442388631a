/**
 * The database source: reads everything at the start, then each change as soon as it is written (LISTEN and NOTIFY).
 * By default, the node sends a heartbeat twice a second with the revision that it serves; the reply reveals changes
 * whose notification was lost.
 */
import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { applyChange, applyDocument, describeViolation } from "@sluice/model";
import { describeDatabaseError } from "../database/describe-error.ts";
import type { Database } from "../database/driver.ts";
import { CHANGES_CHANNEL, removeNode, sendHeartbeat } from "../database/nodes.ts";
import { requireMigrated } from "../database/open.ts";
import { type Revision, readChanges } from "../database/read-changes.ts";
import { answerCalls } from "./answer-calls.ts";
import { joinDatabasePeers } from "./database-peers.ts";
import { type NodeStatusSource, READ_NEWER, type SnapshotSink, type Source, type SourceLog } from "./source.ts";

export interface DatabaseSourceOptions {
  /** The caller closes the database after the source has stopped. */
  readonly database: Database;
  readonly log: SourceLog;
  /** How other processes reach the node: the address of its status listener. Called only after the listener is open. */
  readonly place: () => { readonly address: string; readonly status: string | null };
  /** Answers requests to endpoints of plugins. Default: the node has no such endpoints. */
  readonly askPlugin?: NodeStatusSource["askPlugin"];
  /** How the node takes part in its fleet. Absent: it does not. */
  readonly peer?: NodeStatusSource["peer"];
  /** Called as soon as the node serves a revision, before the database is informed: for waits in the same process. */
  readonly onServed?: (node: string, revision: number) => void;
  /** Milliseconds between heartbeats. Default 500: a node that is silent for 2 s is left out of waits. */
  readonly heartbeat?: number;
}

/**
 * Successive changes are delivered together. A change counts as successive if the time since the last delivery is at
 * most this multiple of that delivery's duration.
 */
const ROW = 10;
/** Milliseconds after which the first of several successive changes is not delayed any further. */
const MAX_REST = 10;
/** Maximum milliseconds for which the next of several successive changes is awaited. */
const MAX_PAUSE = 4;

/** With this source, rate-limiting may count in the database (policy `cluster`). */
const HERE = { ...READ_NEWER, database: true };

export function createDatabaseSource(options: DatabaseSourceOptions): Source {
  const { database, log, place, peer, onServed, askPlugin = async () => null, heartbeat = 500 } = options;
  let seen: Revision | null = null;
  /** The revision that was rejected; -1: none. It is not tried again before the next change. */
  let refused = -1;
  let failure: string | null = null;
  let working: Promise<void> = Promise.resolve();
  /** The newest revision that was signalled and not yet processed. */
  let notified = 0;
  let signals = 0;
  /** The end of the last delivery, from performance.now(). */
  let ended = Number.NEGATIVE_INFINITY;
  let took = 0;
  /** The last heartbeat; the next one is sent after it. */
  let lastHeartbeat: Promise<unknown> = Promise.resolve();
  let announcing = false;
  let waiting = false;
  let beating = false;
  let timer: NodeJS.Timeout | undefined;
  let end: (() => void) | undefined;
  let endCalls: (() => Promise<void>) | undefined;
  let leavePeers: (() => Promise<void>) | undefined;
  /** The node's id once it is registered. */
  let known: string | null = null;
  let stopped = false;

  /** Delivers new changes. True when the node now serves a different revision. */
  async function follow(intake: SnapshotSink): Promise<boolean> {
    const { revision, document, change } = await readChanges(database, seen);
    if (stopped || (seen?.number === revision.number && seen.epoch === revision.epoch)) return false;
    const began = performance.now();
    const taken = await intake.update(revision.number, (previous) =>
      document ? applyDocument(previous, document, HERE) : applyChange(previous, change, HERE),
    );
    ended = performance.now();
    took = ended - began;
    if (taken.violations) {
      if (refused === revision.number) return false;
      refused = revision.number;
      failure = `revision ${revision.number} of the database is refused: ${taken.violations.map(describeViolation).join("\n")}`;
      log.error(
        { revision: revision.number, faults: taken.violations.length },
        `${failure}\nthe last valid configuration stays active`,
      );
      return false;
    }
    seen = revision;
    refused = -1;
    failure = null;
    onServed?.(intake.state().node, revision.number);
    return true;
  }

  /**
   * Sends a heartbeat once the previous one has been answered, with the revision served at that time. Resolves to the
   * newest revision of the database.
   */
  function queueHeartbeat(intake: SnapshotSink, notify: boolean): Promise<Revision> {
    const next = lastHeartbeat.then(() => {
      if (notify) announcing = false;
      const { node, version } = intake.state();
      return sendHeartbeat(database, { id: node, version, ...place(), revision: seen?.number ?? 0 }, notify);
    });
    lastHeartbeat = next.catch(() => undefined);
    return next;
  }

  /** Informs the database of the served revision. Not awaited, so that it does not delay further changes. */
  function announceRevision(intake: SnapshotSink): void {
    if (announcing) return;
    announcing = true;
    void work(intake, async () => void (await queueHeartbeat(intake, true)));
  }

  const isUnread = ({ number, epoch }: Revision): boolean =>
    number !== refused && (number !== seen?.number || epoch !== seen.epoch);

  async function work(intake: SnapshotSink, run: () => Promise<void>): Promise<void> {
    try {
      if (!stopped) await run();
      if (refused < 0) failure = null;
    } catch (error) {
      const reason = describeDatabaseError(error);
      if (failure !== reason)
        log.error({ revision: intake.state().revision }, `${reason}; the last valid configuration stays active`);
      failure = reason;
    }
  }

  /**
   * During successive changes, waits for a pause as long as the last delivery took (at most MAX_PAUSE), but at most
   * MAX_REST in total.
   */
  async function rest(): Promise<void> {
    const from = performance.now();
    if (from - ended > took * ROW) return;
    for (let before = -1; before !== signals && performance.now() - from < MAX_REST; ) {
      before = signals;
      if (took >= 1) await sleep(Math.min(took, MAX_PAUSE));
      // Notifications that arrived while the timer was late are handled first.
      await turn();
    }
  }

  /** Notifications that come while a read is pending are merged: the read returns all changes. */
  function onNotification(intake: SnapshotSink, number: number): void {
    signals += 1;
    notified = Math.max(notified, number);
    if (waiting || stopped) return;
    waiting = true;
    working = working.then(() => {
      waiting = false;
      const newest = notified;
      notified = 0;
      // An earlier read has already returned this revision.
      if (seen && newest <= seen.number) return undefined;
      return work(intake, async () => {
        await rest();
        if (await follow(intake)) announceRevision(intake);
      });
    });
  }

  function beat(intake: SnapshotSink): void {
    if (waiting || beating) return;
    beating = true;
    working = working.then(() => {
      beating = false;
      return work(intake, async () => {
        if (isUnread(await queueHeartbeat(intake, false))) onNotification(intake, Number.POSITIVE_INFINITY);
      });
    });
  }

  return {
    async start(intake) {
      await requireMigrated(database);
      // Listen first, then read: a change written in between is signalled.
      end = await database.listen(CHANGES_CHANNEL, (number) => onNotification(intake, numberOf(number)));
      await follow(intake);
      const { node } = intake.state();
      // Answering begins before the node is registered, because callers wait for all registered nodes.
      endCalls = await answerCalls({ database, log, node, askPlugin });
      await queueHeartbeat(intake, true);
      if (peer)
        leavePeers = await joinDatabasePeers({ database, log, peer, report: () => intake.state().peer, heartbeat });
      log.info({ revision: seen?.number ?? 0, hash: intake.state().hash }, "serving the database");
      timer = setInterval(() => beat(intake), heartbeat);
      known = node;
    },
    failure: () => failure ?? database.failure(),
    async stop() {
      stopped = true;
      clearInterval(timer);
      end?.();
      await endCalls?.();
      await leavePeers?.();
      await working;
      await lastHeartbeat;
      // Without this removal, writes would wait for this node until it counts as silent.
      if (known !== null) await removeNode(database, known).catch(() => undefined);
    },
  };
}

/** The revision that a signal announces. For a null signal Infinity: the newest revision, whatever its number. */
const numberOf = (signal: string | null): number => (signal === null ? Number.POSITIVE_INFINITY : Number(signal) || 0);
