import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { newAccount } from "../counters/fleet/accounts.ts";
import type { ReportedCounter, SavedCounter } from "../counters/fleet/messages.ts";
import { LedgerSaver, type LedgerStore } from "./ledger-saver.ts";

const reported = (name: string): SavedCounter => ({
  epoch: 1,
  counter: { name, scope: "-:-:-", period: "day", windowStart: 0, expires: 1, limit: 10 },
  accounts: [["node", newAccount(1)]],
  seen: undefined,
  overshoot: 0,
});
const namesOf = (counters: readonly ReportedCounter[]) => counters.map(({ counter: { name } }) => name);

/** A node with these changes, and a store that fails until the test repairs it. */
function nodeWith(...unsaved: SavedCounter[]) {
  const restored: string[] = [];
  const saved: string[] = [];
  const warnings: string[] = [];
  const state = { fails: false, failures: 0 };
  const peer = {
    restore: (counters: readonly ReportedCounter[]) => void restored.push(...namesOf(counters)),
    takeUnsaved: (most: number) => unsaved.splice(0, most),
  };
  const store: LedgerStore = {
    load: async () => [reported("before")],
    async save(counters) {
      if (state.fails) {
        state.failures += 1;
        throw new Error("disk full");
      }
      saved.push(...namesOf(counters));
    },
  };
  const warn = (message: string) => void warnings.push(message);
  return { unsaved, restored, saved, warnings, state, options: { peer, store, warn, interval: 5 } };
}

describe("the saver of a fleet's counters", () => {
  it("restores the saved counters before it saves changes, and saves the last ones when it is closed", async () => {
    const { unsaved, restored, saved, options } = nodeWith(reported("one"));
    const saver = await LedgerSaver.start(options);
    assert.deepEqual(restored, ["before"]);
    await waitFor(async () => saved.length === 1, { what: "the first change to be saved" });
    unsaved.push(reported("two"));
    await saver.close();
    assert.deepEqual(saved, ["one", "two"]);
  });

  it("saves again what could not be saved, and reports the failure once", async () => {
    const { saved, state, warnings, options } = nodeWith(reported("one"));
    state.fails = true;
    const saver = await LedgerSaver.start(options);
    await waitFor(async () => state.failures > 2, { what: "several failures" });
    state.fails = false;
    await waitFor(async () => saved.length > 0, { what: "the change to be saved" });
    await saver.close();
    assert.deepEqual(saved, ["one"]);
    assert.deepEqual(warnings, [
      "the counters of policy fleet cannot be saved: after a restart of all nodes, requests since now will not count",
      "the counters of policy fleet are saved again",
    ]);
  });

  it("saves a counter once that changes again before it could be saved", async () => {
    const { unsaved, saved, state, options } = nodeWith(reported("one"));
    state.fails = true;
    const saver = await LedgerSaver.start(options);
    await waitFor(async () => state.failures > 0, { what: "a failure" });
    unsaved.push(reported("one"), reported("two"));
    await waitFor(async () => unsaved.length === 0, { what: "the changes to be taken" });
    state.fails = false;
    await waitFor(async () => saved.length > 0, { what: "the changes to be saved" });
    await saver.close();
    assert.deepEqual(saved, ["one", "two"]);
  });

  it("saves all changes when it is closed, however many there are", async () => {
    const { saved, options } = nodeWith(...Array.from({ length: 2500 }, (_, at) => reported(`${at}`)));
    const saver = await LedgerSaver.start({ ...options, interval: 60_000 });
    await saver.close();
    assert.equal(saved.length, 2500);
  });

  it("does not start when the saved counters cannot be read", async () => {
    const { options } = nodeWith();
    const store = { ...options.store, load: () => Promise.reject(new Error("damaged")) };
    await assert.rejects(LedgerSaver.start({ ...options, store }), /damaged/);
  });
});
