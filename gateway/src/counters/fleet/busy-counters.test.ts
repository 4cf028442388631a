/** Messages, and requests that wait for them, with counters that get many requests. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Counter } from "@sluice/plugin-sdk";
import { SIMULATION_START, SimulatedFleet, type SimulatedProcess } from "./testing-fleet.ts";
import { randomNumbers } from "./testing-network.ts";

const SECOND = 1000;

const secondOf = (window: number, limit: number): Counter => ({
  name: "one",
  scope: "-:-:-",
  period: "second",
  windowStart: SIMULATION_START + window * SECOND,
  expires: SIMULATION_START + (window + 1) * SECOND,
  limit,
});

/** Eight nodes, after one second. */
function eightNodes() {
  const random = randomNumbers(1);
  const fleet = new SimulatedFleet({
    random,
    loss: 0,
    repetition: 0,
    delay: 1,
    viewDelay: 1,
    unowned: "closed",
  });
  const nodes = Array.from({ length: 8 }, (_, at) => fleet.start(`node-${at}`));
  fleet.publish(nodes.map(({ name }) => name));
  fleet.queue.runUntil(SECOND);
  const [most, few] = nodes;
  assert.ok(most && few);
  return { fleet, nodes, most, few, random };
}

describe("a limit of 1,000 per second with 2,000 requests, of which one of 8 nodes gets 90 % and another one 10 %", () => {
  const LIMIT = 1000;
  const WINDOWS = 50;
  /** Windows until the nodes know the demand. */
  const WARM_UP = 3;
  const { fleet, most, few, random } = eightNodes();
  const waited = new Map<SimulatedProcess, number>([
    [most, 0],
    [few, 0],
  ]);
  const served: number[] = [];
  let messages = 0;
  for (let window = 1; window <= WINDOWS; window++) {
    if (window === WARM_UP + 1) messages = fleet.network.messages;
    const of = secondOf(window, LIMIT);
    for (const [node, requests] of [
      [most, 1800],
      [few, 200],
    ] as const)
      for (let sent = 0; sent < requests; sent++)
        fleet.queue.after(random() * SECOND, () => {
          const before = fleet.undecided;
          fleet.request(node, [of]);
          if (window > WARM_UP) waited.set(node, (waited.get(node) ?? 0) + fleet.undecided - before);
        });
    fleet.queue.runUntil((window + 1) * SECOND);
    served.push(fleet.tally(of).served);
  }
  const measured = WINDOWS - WARM_UP;

  it("admits exactly 1,000 in each second", () => {
    assert.deepEqual(new Set(served), new Set([LIMIT]));
  });

  it("takes at most 70 messages in each second", () => {
    const each = (fleet.network.messages - messages) / measured;
    assert.ok(each <= 70, `${each}`);
  });

  for (const [node, requests, percent] of [
    [most, 1800, 0.2],
    [few, 200, 0.7],
  ] as const)
    it(`lets fewer than ${percent} % of ${requests} requests wait`, () => {
      const each = (waited.get(node) ?? 0) / measured;
      assert.ok(each < (requests * percent) / 100, `${each}`);
    });
});

describe("nodes of a fleet", () => {
  it("send nothing in a window any more after all have learned that no token is left", () => {
    const { fleet, nodes } = eightNodes();
    const of = secondOf(1, 100);
    const flood = () => {
      for (const node of nodes) for (let sent = 0; sent < 50; sent++) fleet.request(node, [of]);
      fleet.queue.runUntil(fleet.queue.time + 100);
    };
    flood();
    const before = fleet.network.messages;
    for (let times = 0; times < 5; times++) flood();
    assert.equal(fleet.network.messages, before);
    assert.equal(fleet.tally(of).served, 100);
    const raised = secondOf(1, 120);
    for (const node of nodes) for (let sent = 0; sent < 50; sent++) fleet.request(node, [raised]);
    fleet.queue.runUntil(fleet.queue.time + 100);
    assert.equal(fleet.tally(of).served, 120, "a raised limit holds at once");
  });

  it("learn that no token is left from the owner, although they have not asked", () => {
    const { fleet, most, few } = eightNodes();
    const of = secondOf(1, 100);
    fleet.request(few, [of]);
    for (let sent = 0; sent < 200; sent++) fleet.request(most, [of]);
    fleet.queue.runUntil(fleet.queue.time + 100);
    assert.equal(fleet.tally(of).served, 100);
    const before = fleet.network.messages;
    fleet.request(few, [of]);
    assert.equal(fleet.undecided, 0);
    fleet.queue.runUntil(fleet.queue.time + 100);
    assert.equal(fleet.network.messages, before);
  });

  it("need no ticks while they wait for nothing, until a window has ended", () => {
    const { fleet, nodes } = eightNodes();
    const of = secondOf(1, 100);
    for (const { node } of nodes) {
      assert.equal(node.isWaiting, false);
      assert.equal(node.nextEnd, Number.POSITIVE_INFINITY);
    }
    for (const node of nodes) fleet.request(node, [of]);
    assert.ok(nodes.some(({ node }) => node.isWaiting));
    fleet.queue.runUntil(fleet.queue.time + 100);
    for (const { node } of nodes) {
      assert.equal(node.isWaiting, false);
      assert.equal(node.nextEnd, of.expires + 15 * SECOND);
    }
    fleet.queue.runUntil(20 * SECOND);
    for (const { node } of nodes) {
      assert.equal(node.nextEnd, Number.POSITIVE_INFINITY);
      assert.deepEqual(node.sizes, { leased: 0, owned: 0 });
    }
  });
});
