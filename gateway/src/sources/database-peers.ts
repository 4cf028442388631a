/**
 * A node with a database as a member of its fleet: sends heartbeats to the table of peers, and adopts the views that they
 * lead to.
 */
import { hostname } from "node:os";
import { type PeerReport, REMOVE_PEER_AFTER } from "@sluice/model";
import { describeDatabaseError } from "../database/describe-error.ts";
import type { Database } from "../database/driver.ts";
import { INTERRUPTION, type PeerRecord, sendPeerHeartbeat, VIEWS_CHANNEL } from "../database/peers.ts";
import type { SourceLog, ViewReceiver } from "./source.ts";

export interface DatabasePeersOptions {
  readonly database: Database;
  readonly log: SourceLog;
  readonly peer: ViewReceiver;
  /** Undefined: the node takes no part yet. */
  readonly report: () => PeerReport | undefined;
  /** Milliseconds between heartbeats. */
  readonly heartbeat: number;
}

/** The host by which others reach a listener: that of the machine if it listens on all addresses. */
export const reachedHost = (host: string): string => (host === "0.0.0.0" || host === "::" ? hostname() : host);

/** Resolves to a function that ends the heartbeats, and removes the node from the view. Rejects if the database does not answer. */
export async function joinDatabasePeers(options: DatabasePeersOptions): Promise<() => Promise<void>> {
  const { database, log, peer, report, heartbeat } = options;
  let working: Promise<void> = Promise.resolve();
  let isWaiting = false;
  let isStopped = false;
  let lastFailure: string | null = null;
  /** The node as it was registered last. */
  let registered: PeerRecord | null = null;
  /** Since this time, heartbeats have succeeded without an interruption. */
  let steadySince = performance.now();
  let succeededAt = steadySince;

  async function beat(): Promise<void> {
    const node = report();
    // After the view without this node, a heartbeat would register it again.
    if (isStopped || node === undefined || registered?.state === "left") return;
    const record = { ...node, host: reachedHost(peer.address.host) };
    const isInterrupted = () => performance.now() - succeededAt > INTERRUPTION;
    // After an interruption, and after the start of this node, the other nodes have this time to send a heartbeat.
    const mayRemove = !isInterrupted() && performance.now() - steadySince >= REMOVE_PEER_AFTER;
    const view = await sendPeerHeartbeat(database, {
      node: record,
      isNews: node.state !== registered?.state,
      mayRemove,
    });
    if (isInterrupted()) steadySince = performance.now();
    succeededAt = performance.now();
    registered = record;
    peer.publish(view);
  }

  function beatSoon(): void {
    if (isWaiting) return;
    isWaiting = true;
    working = working.then(async () => {
      isWaiting = false;
      try {
        await beat();
        lastFailure = null;
      } catch (error) {
        const reason = describeDatabaseError(error);
        if (reason !== lastFailure)
          log.warn({ reason }, "cannot read the nodes of the fleet: limits keep the last ones");
        lastFailure = reason;
      }
    });
  }

  const unlisten = await database.listen(VIEWS_CHANNEL, beatSoon);
  await beat();
  const timer = setInterval(beatSoon, heartbeat);
  return async () => {
    isStopped = true;
    clearInterval(timer);
    unlisten();
    await working;
    if (registered === null || registered.state === "left") return;
    await sendPeerHeartbeat(database, { node: { ...registered, state: "left" }, isNews: true, mayRemove: false }).catch(
      () => undefined,
    );
  };
}
