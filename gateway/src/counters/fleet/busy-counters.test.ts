/** Messages, and requests that wait for them, with counters that get many requests. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Counter } from "@sluice/plugin-sdk";
import { counterId } from "./accounts.ts";
import { SIMULATION_START, SimulatedFleet } from "./testing-fleet.ts";
import { randomNumbers } from "./testing-network.ts";
import { Ownership, ownershipHash } from "./view.ts";

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
  return { fleet, nodes, random };
}

interface BusyLoad {
  readonly title: string;
  readonly limit: number;
  /** Requests per second to each of the nodes. */
  readonly requests: readonly number[];
  readonly messages: number;
  /** Maximum percent of the requests of each node that wait. */
  readonly waiting: readonly number[];
}

const loads: readonly BusyLoad[] = [
  {
    title: "1,000 per second with 2,000 requests, of which one of 8 nodes gets 90 % and another one 10 %",
    limit: 1000,
    requests: [1800, 200],
    messages: 70,
    waiting: [0.2, 0.7],
  },
  {
    title: "100 per second with 200 requests to 8 nodes",
    limit: 100,
    requests: [25, 25, 25, 25, 25, 25, 25, 25],
    messages: 170,
    waiting: Array.from({ length: 8 }, () => 10),
  },
];

for (const { title, limit, requests, ...bounds } of loads)
  describe(`a limit of ${title}`, () => {
    const WINDOWS = 50;
    /** Windows until the nodes know the demand. */
    const WARM_UP = 3;
    const { fleet, nodes, random } = eightNodes();
    const waited = requests.map(() => 0);
    const served: number[] = [];
    let messages = 0;
    for (let window = 1; window <= WINDOWS; window++) {
      if (window === WARM_UP + 1) messages = fleet.network.messages;
      const of = secondOf(window, limit);
      for (const [at, each] of requests.entries())
        for (let sent = 0; sent < each; sent++)
          fleet.queue.after(random() * SECOND, () => {
            const before = fleet.undecided;
            const node = nodes[at];
            if (node !== undefined) fleet.request(node, [of]);
            if (window > WARM_UP) waited[at] = (waited[at] ?? 0) + fleet.undecided - before;
          });
      fleet.queue.runUntil((window + 1) * SECOND);
      served.push(fleet.tally(of).served);
    }
    const measured = WINDOWS - WARM_UP;

    it("admits exactly as many in each second", () => {
      assert.deepEqual(new Set(served), new Set([limit]));
    });

    it(`takes at most ${bounds.messages} messages in each second`, () => {
      const each = (fleet.network.messages - messages) / measured;
      assert.ok(each <= bounds.messages, `${each}`);
    });

    it("lets few requests wait", () => {
      const percents = waited.map((number, at) => (number * 100) / (measured * (requests[at] ?? 0)));
      for (const [at, percent] of percents.entries()) assert.ok(percent <= (bounds.waiting[at] ?? 0), `${percents}`);
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

  for (const [title, window, limit] of [
    ["that were leased in the present window", 1, 730],
    ["that were leased ahead for the next window", 2, 20],
  ] as const)
    it(`spend no tokens ${title} after the limit was lowered`, () => {
      const { fleet, nodes } = eightNodes();
      for (const node of nodes)
        for (let sent = 1; sent <= 90; sent++)
          fleet.queue.after(sent * 10, () => fleet.request(node, [secondOf(1, 10_000)]));
      fleet.queue.runUntil(window * SECOND + (window === 1 ? 950 : 0));
      assert.ok(nodes.every(({ node }) => node.sizes.leased === 2));
      const lowered = secondOf(window, limit);
      for (const node of nodes) for (let sent = 0; sent < 150; sent++) fleet.request(node, [lowered]);
      fleet.queue.runUntil(fleet.queue.time + 200);
      assert.equal(fleet.tally(lowered).served, limit);
    });

  it("learn that no token is left from the owner, although they have not asked", () => {
    const { fleet, nodes } = eightNodes();
    const of = secondOf(1, 100);
    const owner = new Ownership(fleet.view).ownerOf(ownershipHash(counterId(of)));
    const [most, few] = nodes.filter(({ name }) => name !== owner);
    assert.ok(most && few);
    fleet.request(few, [of]);
    fleet.queue.runUntil(fleet.queue.time + 50);
    for (let sent = 0; sent < 200; sent++) fleet.request(most, [of]);
    fleet.queue.runUntil(fleet.queue.time + 200);
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
