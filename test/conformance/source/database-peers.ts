/** Tests of the views of nodes that share a database. Run for Postgres and for the embedded database. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import type { PeerReport } from "@sluice/model";
import { pino } from "pino";
import type { Database } from "../../../gateway/src/database/driver.ts";
import { type PeerHeartbeat, type StoredView, sendPeerHeartbeat } from "../../../gateway/src/database/peers.ts";
import { joinDatabasePeers } from "../../../gateway/src/sources/database-peers.ts";
import { waitFor } from "../../../tools/process/index.ts";

/** A node that takes part, without the protocol that uses the views. */
interface TestPeer {
  view: StoredView | null;
  state: PeerReport["state"];
  leave(): Promise<void>;
}

const namesIn = (view: StoredView | null) =>
  view && [view.members, view.leaving].map((list) => list.map(({ name }) => name).join(" "));

export function databasePeersSuite(use: () => Database): void {
  describe("nodes that count together", () => {
    let peers: TestPeer[] = [];
    let database: Database;

    beforeEach(async () => {
      database = use();
      await database.script("truncate peers; update peer_view set epoch = 0, members = '[]', leaving = '[]'");
    });
    afterEach(async () => {
      for (const peer of peers) await peer.leave();
      peers = [];
    });

    async function join(name: string): Promise<TestPeer> {
      const peer: TestPeer = { view: null, state: "present", leave: async () => undefined };
      peers.push(peer);
      peer.leave = await joinDatabasePeers({
        database,
        log: pino({ level: "silent" }),
        peer: {
          address: { host: "127.0.0.1", port: 8006 },
          publish(view) {
            if (view.epoch > (peer.view?.epoch ?? 0)) peer.view = view;
          },
        },
        report: () => ({ name, port: 8006, epoch: peer.view?.epoch ?? 0, state: peer.state }),
        heartbeat: 50,
      });
      return peer;
    }

    const reach = (those: readonly TestPeer[], members: string, leaving: string) =>
      waitFor(() => those.every(({ view }) => String(namesIn(view)) === `${members},${leaving}`), {
        what: `members ${members || "none"}, leaving ${leaving || "none"}`,
      });

    test("all nodes get the same views while nodes join, shut down and stop", async () => {
      const a = await join("a");
      assert.deepEqual(a.view?.members, [{ name: "a", host: "127.0.0.1", port: 8006 }]);
      const [b, c] = [await join("b"), await join("c")];
      await reach([a, b, c], "a b c", "");
      assert.equal(new Set([a, b, c].map(({ view }) => view?.epoch)).size, 1);
      b.state = "leaving";
      await reach([a, b, c], "a c", "b");
      b.state = "left";
      await reach([a, b, c], "a c", "");
      await c.leave();
      await reach([a], "a", "");
    });

    test("a node that was silent for 5 s is left out, but not before the others had this time to be heard", async () => {
      await database.query(
        "insert into peers values ('dead', 'x', 1, false, 0, clock_timestamp() - interval '6 s'), ('live', 'x', 1, false, 0, clock_timestamp() + interval '1 h')",
      );
      const a = await join("a");
      const joinedAt = performance.now();
      assert.deepEqual(namesIn(a.view), ["a dead live", ""]);
      await reach([a], "a live", "");
      assert.ok(performance.now() - joinedAt > 4500);
    });

    test("the first heartbeat after the database did not answer for 6 s leaves no node out", async () => {
      const beat = (name: string, members: Partial<PeerHeartbeat> = {}) => {
        const node = { name, host: "127.0.0.1", port: 8006, epoch: 0, state: "present" } as const;
        return sendPeerHeartbeat(database, { node, isNews: false, mayRemove: true, ...members });
      };
      for (const name of ["a", "b", "c"]) await beat(name);
      await database.query("update peers set last_seen = last_seen - interval '6 s'");
      for (const isNews of [false, true])
        assert.deepEqual(namesIn(await beat("a", { isNews, mayRemove: !isNews })), ["a b c", ""]);
      await beat("b");
      assert.deepEqual(namesIn(await beat("a")), ["a b", ""]);
    });

    test("epochs continue above those of the nodes after the database was restored from a copy", async () => {
      const [a, b] = [await join("a"), await join("b")];
      await reach([a, b], "a b", "");
      const before = a.view?.epoch ?? 0;
      await database.query("update peer_view set epoch = 0");
      await waitFor(() => [a, b].every(({ view }) => (view?.epoch ?? 0) > before), { what: "a later view" });
    });
  });
}
