import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Counter } from "@sluice/plugin-sdk";
import { type Account, chargedTokens, newAccount } from "./accounts.ts";
import { FleetOwner } from "./fleet-owner.ts";
import { FleetLessee } from "./lessee/fleet-lessee.ts";
import type { LeaseAsk } from "./messages.ts";
import { SIMULATION_START, SimulatedFleet } from "./testing-fleet.ts";
import { randomNumbers } from "./testing-network.ts";
import { Ownership } from "./view.ts";

const counter: Counter = {
  name: "one",
  scope: "-:-:-",
  period: "minute",
  windowStart: 0,
  expires: 60_000,
  limit: 10,
};
const clock = { now: () => 0, wallTime: () => 0 };
const nothing = () => undefined;

for (const [what, members] of [
  ["while it is a member", ["node-0"]],
  ["when all nodes are leaving", []],
] as const)
  it(`the last node returns unspent tokens before it saves its counters for the last time, ${what}`, () => {
    const calm = { loss: 0, repetition: 0, delay: 1, viewDelay: 1, unowned: "closed" } as const;
    const fleet = new SimulatedFleet({ ...calm, random: randomNumbers(1) });
    const last = fleet.start("node-0");
    fleet.publish(["node-0"]);
    fleet.queue.runUntil(100);
    const expires = SIMULATION_START + 60_000;
    const month = { ...counter, period: "month", limit: 1000, windowStart: SIMULATION_START, expires } as const;
    for (let sent = 0; sent < 50; sent++) fleet.queue.after(sent, () => fleet.request(last, [month]));
    fleet.queue.runUntil(200);
    const saved = () => {
      fleet.save(last);
      const [kept] = fleet.saved.values();
      return kept?.accounts.reduce((sum, [, account]) => sum + chargedTokens(account), 0) ?? 0;
    };
    assert.ok(saved() > 50);
    fleet.publish(members, members.length === 0 ? ["node-0"] : []);
    fleet.queue.runUntil(300);
    fleet.retire(last);
    assert.equal(saved(), 50);
  });

describe("when the owner of a counter changes, and then is the former one again", () => {
  it("a node reports its ledger again if it has learned of other accounts meanwhile", () => {
    const table = { capacity: 10, onReplace: nothing };
    const events = { grant: nothing, recall: nothing, onOvershoot: nothing };
    const owner = new FleetOwner({ ...table, ...events, self: "one", clock, mayGrant: () => false });
    const reported = (node: string, account: Account) =>
      owner.learn({ counter, accounts: [[node, account]], seen: undefined, overshoot: 0 });
    const unknownTo = (peer: string) => {
      const found: string[] = [];
      owner.forEachUnknownTo(
        () => peer,
        (ledger) => {
          found.push(...ledger.report().accounts.map(([node]) => node));
          // The peer confirms the report.
          ledger.knownBy = peer;
        },
      );
      return found;
    };
    reported("three", newAccount(1));
    assert.deepEqual(unknownTo("two"), ["three"]);
    assert.deepEqual(unknownTo("two"), []);
    reported("four", { ...newAccount(1), added: 5 });
    assert.deepEqual(unknownTo("two"), ["three", "four"]);
  });

  it("a node reports its account if it has learned of tokens from a recall, because the grant was lost", () => {
    const asks: LeaseAsk[] = [];
    const table = { capacity: 10, onReplace: nothing };
    const events = { onDecision: nothing, onBorrow: nothing, ask: (_: string, ask: LeaseAsk) => asks.push(ask) };
    const lessee = new FleetLessee({ ...table, ...events, self: "one", clock });
    const adopt = (epoch: number, owner: string) =>
      lessee.adopt(new Ownership({ epoch, members: [owner], leaving: [] }));
    adopt(1, "two");
    lessee.take(1, [counter], "closed");
    lessee.flush();
    const [ask] = asks;
    assert.ok(ask);
    const { generation } = ask.account;
    const totals = { added: 0, total: 1, previous: 0, exhausted: false, isFinal: false };
    lessee.grant("two", { ...totals, counter, generation, granted: 1, sequence: ask.sequence });
    adopt(2, "three");
    lessee.recall("three", { counter, generation, granted: 4, wanted: 4, share: 1 });
    adopt(3, "two");
    assert.deepEqual(
      [...lessee.unreported()].map(({ account }) => account.granted),
      [4],
    );
  });
});
