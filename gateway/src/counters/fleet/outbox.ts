/** Collects what a node sends to each peer in one turn of the event loop, so that it leaves in one message. */
import type { PeerMessage } from "./messages.ts";

/** Maximum number of asks, grants and recalls of one message each. */
const MOST = 500;

type Draft = { -readonly [Member in keyof PeerMessage]: PeerMessage[Member][number][] };

export class Outbox {
  readonly #drafts = new Map<string, Draft>();

  add<Member extends keyof PeerMessage>(peer: string, member: Member, item: PeerMessage[Member][number]): void {
    let draft = this.#drafts.get(peer);
    if (draft === undefined) {
      draft = { asks: [], grants: [], recalls: [], reports: [], receipts: [] };
      this.#drafts.set(peer, draft);
    }
    (draft[member] as PeerMessage[Member][number][]).push(item);
  }

  get isEmpty(): boolean {
    return this.#drafts.size === 0;
  }

  /** Sends everything that was added. A report has a message of its own, because its parts are large. */
  flush(send: (peer: string, message: PeerMessage) => void): void {
    for (const [peer, draft] of this.#drafts) {
      const [firstReport, ...reports] = draft.reports.splice(0);
      const messages = Math.max(1, ...[draft.asks, draft.grants, draft.recalls].map(({ length }) => length / MOST));
      for (let at = 0; at < messages; at++) {
        send(peer, {
          asks: draft.asks.splice(0, MOST),
          grants: draft.grants.splice(0, MOST),
          recalls: draft.recalls.splice(0, MOST),
          reports: at > 0 || firstReport === undefined ? [] : [firstReport],
          receipts: draft.receipts.splice(0),
        });
      }
      for (const report of reports) send(peer, { asks: [], grants: [], recalls: [], reports: [report], receipts: [] });
    }
    this.#drafts.clear();
  }
}
