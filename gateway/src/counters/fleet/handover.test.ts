import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Counter } from "@sluice/plugin-sdk";
import { Handover } from "./handover.ts";
import type { HandoverReport } from "./messages.ts";
import { Ownership } from "./view.ts";

const counter = (name: string): Counter => ({
  name,
  scope: "-:-:-",
  period: "minute",
  windowStart: 0,
  expires: 60_000,
  limit: 10,
});

describe("a report of 2000 counters", () => {
  const counters = (accounts: number) =>
    Array.from({ length: 2000 }, (_, at) => ({
      content: () => ({ counter: counter(`${at}`), accounts: [], seen: undefined, overshoot: 0 }),
      size: 400 * accounts,
      onReceipt: () => undefined,
    }));

  function handoverOf(accounts: number) {
    let time = 0;
    const sent: HandoverReport[] = [];
    const clock = { now: () => time, wallTime: () => time };
    const options = { self: "one", clock, onSettled: () => undefined };
    const handover = new Handover({ ...options, send: (_, report) => sent.push(report) });
    handover.report("two", counters(accounts), { epoch: 1, final: true });
    const run = (milliseconds: number) => {
      for (const end = time + milliseconds; time < end; handover.tick()) time += 20;
    };
    return { handover, sent, run };
  }

  it("is repeated every 20 ms by a small part, until the peer has adopted the view", () => {
    const { sent, run } = handoverOf(1);
    run(1000);
    assert.equal(sent.length, 51);
    assert.ok(sent.every(({ part, counters: { length } }) => part === 0 && length <= 25));
  });

  it("has at most two large parts on the way, which are repeated rarely", () => {
    const { handover, sent, run } = handoverOf(1);
    handover.confirm("two", { epoch: 1, final: true, part: 0 });
    run(2000);
    assert.deepEqual(
      sent.map(({ part }) => part),
      [0, 1, 2, 1, 2, 1, 2, 1, 2],
    );
  });

  for (const [accounts, most] of [
    [1, 500],
    [10, 65],
    [1000, 1],
  ] as const)
    it(`has at most ${most} counters in each part if each counter has ${accounts} accounts`, () => {
      const { handover, sent } = handoverOf(accounts);
      const received = new Map<number, number>();
      for (const {
        part,
        counters: { length },
      } of sent) {
        received.set(part, length);
        handover.confirm("two", { epoch: 1, final: true, part });
      }
      assert.equal(Math.max(...received.values()), most);
      assert.equal(
        [...received.values()].reduce((sum, length) => sum + length),
        2000,
      );
      assert.equal(handover.isConfirmed, true);
    });
});

describe("a new owner that has the final report of a node for the former view", () => {
  function ownerAfter(leaving: readonly string[]) {
    const clock = { now: () => 0, wallTime: () => 0 };
    const settled: boolean[] = [];
    const onSettled = (isComplete: boolean) => settled.push(isComplete);
    const handover = new Handover({ self: "one", clock, onSettled, send: () => undefined });
    const receive = (from: string, { epoch, final = false }: { epoch: number; final?: boolean }) =>
      handover.receive(from, { epoch, final, part: 0, parts: 1, awaited: ["leaving"], counters: [] });
    handover.adopt(new Ownership({ epoch: 1, members: ["one", "two"], leaving: ["leaving"] }));
    receive("leaving", { epoch: 1, final: true });
    handover.adopt(new Ownership({ epoch: 2, members: ["one", "two"], leaving }));
    receive("two", { epoch: 2 });
    return { settled, receive };
  }

  it("waits for the report for the present view while this view lists the node as leaving", () => {
    const { settled, receive } = ownerAfter(["leaving"]);
    assert.deepEqual(settled, []);
    receive("leaving", { epoch: 2, final: true });
    assert.deepEqual(settled, [true]);
  });

  it("does not wait for the node any more when the present view does not list it", () => {
    assert.deepEqual(ownerAfter([]).settled, [true]);
  });
});

it("a node that shuts down names the members that a view does not list any more, because new members do not know them", () => {
  const sent: HandoverReport[] = [];
  const clock = { now: () => 0, wallTime: () => 0 };
  const settled: boolean[] = [];
  const onSettled = (isComplete: boolean) => settled.push(isComplete);
  const handover = new Handover({ self: "one", clock, onSettled, send: (_, report) => sent.push(report) });
  handover.adopt(new Ownership({ epoch: 1, members: ["one", "two"], leaving: ["ended"] }));
  handover.adopt(new Ownership({ epoch: 2, members: ["new"], leaving: ["one"] }));
  handover.report("new", [], { epoch: 2, final: false });
  handover.settle();
  assert.deepEqual(
    sent.map(({ awaited }) => awaited),
    [["two"]],
  );
  assert.deepEqual(settled, [true]);
});
