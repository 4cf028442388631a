/**
 * Eight nodes in processes of their own enforce limits together (policy fleet), over real connections with mutual TLS:
 * the guarantees of docs/explanation/limits-of-a-fleet.md, without failures and with them.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, describe, test } from "node:test";
import { fleetFallbacks, type Period, PeriodWindows } from "@sluice/plugin-sdk";
import { counterId } from "../../../gateway/src/counters/fleet/accounts.ts";
import { randomNumbers } from "../../../gateway/src/counters/fleet/testing-network.ts";
import { Ownership, ownershipHash } from "../../../gateway/src/counters/fleet/view.ts";
import { waitFor } from "../../../tools/process/index.ts";
import { FileFleet, type FleetProcess, fleetMetric } from "../../product/fleet-nodes.ts";
import { FleetLoad, type FleetLoadOptions } from "./fleet-load.ts";
import { PeerRelay } from "./peer-relay.ts";

const SIZE = 8;
/** The limits without failures. A second must have time for more requests than the limit, also on a busy machine. */
const limits = { second: 300, minute: 2000, year: 4000 } as const satisfies Partial<Record<Period, number>>;
/** The limit per year of the tests with failures. */
const LIMIT = 4000;
const KEYS = 100_000;
/** The limit of each key. A node may admit one request of it while the owner does not answer. */
const OF_KEY = SIZE;

/** Each route has its own limit, by the header x-key; the routes of fallbacks and `keys` have one for a year. */
const route = (name: string, config: object) => ({
  name,
  paths: [`/${name}`],
  plugins: [
    {
      name: "rate-limiting",
      config: { policy: "fleet", limit_by: "header", header_name: "x-key", scope_name: name, ...config },
    },
  ],
});

const document = {
  _format_version: "3.0",
  services: [
    {
      name: "all",
      url: "http://upstream.test",
      routes: [
        ...Object.entries(limits).map(([period, limit]) =>
          route(period, { [period]: limit, fleet_fallback: "closed" }),
        ),
        ...fleetFallbacks.map((fleet_fallback) => route(fleet_fallback, { year: LIMIT, fleet_fallback })),
        route("keys", { year: OF_KEY, fleet_fallback: "share" }),
      ],
      plugins: [{ name: "request-termination", config: { status_code: 200 } }],
    },
  ],
};

const random = randomNumbers(8);
const oneOf = <Value>(values: readonly Value[]): Value =>
  values[Math.floor(random() * values.length)] ?? assert.fail("nothing to choose from");

const metrics = {
  overshoot: "sluice_limit_overshoot_total",
  unowned: "sluice_limit_unowned_total",
  incomplete: "sluice_limit_incomplete_handovers_total",
  replaced: "sluice_rate_limit_counters_replaced_total",
} as const;

/** The sum of a metric over nodes. */
async function sumOf(metric: keyof typeof metrics, nodes: readonly FleetProcess[]): Promise<number> {
  const values = await Promise.all(nodes.map((node) => fleetMetric(node, metrics[metric])));
  return values.reduce((sum, value) => sum + value, 0);
}

/** The sums of a test, counted from now on. */
async function countersOf(nodes: readonly FleetProcess[]) {
  const names = Object.keys(metrics) as (keyof typeof metrics)[];
  const began = new Map(await Promise.all(names.map(async (name) => [name, await sumOf(name, nodes)] as const)));
  return async (metric: keyof typeof metrics) => (await sumOf(metric, nodes)) - (began.get(metric) ?? 0);
}

/** Megabytes of the process in memory. */
const memoryOf = ({ process }: FleetProcess): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${process.pid}/status`, "utf8"))?.[1]) / 1024;

interface CountedWindow {
  answered: number;
  /** Admitted requests that were sent and answered within the window, so that their nodes counted them in it. */
  within: number;
  /** Admitted requests that were answered within the window. */
  admitted: number;
}

describe("eight nodes that count together", () => {
  let fleet: FileFleet;
  let relays: readonly PeerRelay[] = [];

  before(async () => {
    const peers = async (listeners: readonly string[]) => {
      relays = await Promise.all(listeners.map((listener) => PeerRelay.open(listener)));
      return relays.map(({ address }) => address);
    };
    fleet = await FileFleet.start({ size: SIZE, document, peers });
  });
  /** The loads of the present test. */
  const loads: FleetLoad[] = [];
  function startLoad(options: FleetLoadOptions): FleetLoad {
    const load = new FleetLoad(options);
    loads.push(load);
    return load;
  }

  afterEach(() => Promise.all(loads.splice(0).map((load) => load.close())));
  after(async () => {
    await fleet?.close();
    for (const relay of relays) relay.close();
  });

  /** The node that owns a counter of a route with a limit per year. */
  function ownerOf(name: string, key: string): FleetProcess {
    const { start: windowStart, end: expires } = new PeriodWindows("year").at(Date.now());
    const scope = `named::${name}`;
    const counter = { name: `${scope}:header=${key}`, scope, period: "year", windowStart, expires, limit: 1 } as const;
    const view = { epoch: 1, members: fleet.nodes.map((node) => node.name), leaving: [] };
    const owner = new Ownership(view).ownerOf(ownershipHash(counterId(counter)));
    return fleet.nodes.find((node) => node.name === owner) ?? assert.fail("no node owns the counter");
  }

  /** A counter that was not used before has exactly its limit. */
  async function assertExact(key: string): Promise<void> {
    const load = startLoad({
      path: "/closed",
      key: () => key,
      to: () => oneOf(fleet.nodes),
      requests: LIMIT * 1.1,
    });
    assert.equal((await load.ended()).admitted(), LIMIT);
  }

  /** The requests of each window in which more than the limit were sent, when there are `windows` of them. */
  async function countedWindows(period: keyof typeof limits, { key, to, windows }: WindowLoad) {
    const calendar = new PeriodWindows(period);
    const all = new Map<number, CountedWindow>();
    const full = () => [...all.values()].filter(({ answered }) => answered >= limits[period] * 1.2);
    const load = startLoad({
      path: `/${period}`,
      key: () => key,
      to,
      onAnswer({ isAdmitted, sentAt, answeredAt }) {
        const { start } = calendar.at(answeredAt);
        const counted = all.get(start) ?? { answered: 0, within: 0, admitted: 0 };
        all.set(start, counted);
        counted.answered += 1;
        counted.admitted += Number(isAdmitted);
        counted.within += Number(isAdmitted && calendar.at(sentAt).start === start);
      },
    });
    await load.until(() => full().length >= windows, `${windows} windows with more requests than the limit`);
    await load.stop();
    return full();
  }

  interface WindowLoad {
    readonly key: string;
    readonly to: () => FleetProcess;
    readonly windows: number;
  }

  const spreads: Readonly<Record<string, () => FleetProcess>> = {
    "90 % of them to one node": () => {
      const [most, ...others] = fleet.nodes;
      return random() < 0.9 ? (most ?? assert.fail()) : oneOf(others);
    },
    "as many to each node": () => oneOf(fleet.nodes),
    "all of them to one node": () => fleet.nodes.at(-1) ?? assert.fail(),
  };
  for (const [spread, to] of Object.entries(spreads)) {
    for (const [period, windows] of [
      ["second", 2],
      ["minute", 1],
      ["year", 1],
    ] as const)
      test(`requests beyond the limit per ${period}, ${spread}: never more than the limit is admitted, and at least 99 %`, async () => {
        const limit = limits[period];
        const counter = await countersOf(fleet.nodes);
        for (const { within, admitted } of await countedWindows(period, { key: spread, to, windows })) {
          assert.ok(within <= limit, `${within} of ${limit} were admitted within the window`);
          assert.ok(admitted >= limit * 0.99, `${admitted} of ${limit} were admitted`);
        }
        assert.deepEqual([await counter("overshoot"), await counter("incomplete")], [0, 0]);
      });
  }

  for (const fallback of fleetFallbacks)
    test(`the owner of a counter is killed under load (${fallback}): the others admit at most the limit and what the fallback admits`, async () => {
      const key = "killed";
      const killed = ownerOf(fallback, key);
      const others = fleet.nodes.filter((node) => node !== killed);
      const counter = await countersOf(others);
      let running: readonly FleetProcess[] = fleet.nodes;
      const load = startLoad({ path: `/${fallback}`, key: () => key, to: () => oneOf(running) });
      await load.until(() => load.admitted() >= LIMIT / 2, "half of the limit to be used");
      load.expectFailures(killed);
      running = others;
      await killed.process.kill9();
      await fleet.settled(others);
      await waitFor(async () => (await counter("incomplete")) >= others.length, { what: "the end of the hand-over" });
      await load.further(LIMIT);
      await load.stop();
      const byOthers = load.admitted() - load.admitted(killed);
      const unowned = await counter("unowned");
      assert.ok(byOthers <= LIMIT + unowned, `${byOthers} of ${LIMIT}, ${unowned} of them without an owner`);
      // The tokens that the killed node held are lost.
      assert.ok(load.admitted() >= LIMIT * 0.85, `${load.admitted()} of ${LIMIT} were admitted`);
      await waitFor(async () => (await counter("overshoot")) >= byOthers - LIMIT, { what: "the overshoot" });
      const overshoot = await counter("overshoot");
      assert.ok(overshoot <= unowned, `${overshoot} are counted, ${unowned} were admitted without an owner`);
      if (fallback === "closed") assert.deepEqual([unowned, overshoot], [0, 0]);
      await fleet.startNode(fleet.nodes.indexOf(killed));
      await fleet.settled();
      await assertExact(`after ${fallback}`);
    });

  test("a network that fails between all nodes, and heals: the overshoot is bounded and counted, and limits hold again", async () => {
    const key = "cut";
    const counter = await countersOf(fleet.nodes);
    const load = startLoad({ path: "/share", key: () => key, to: () => oneOf(fleet.nodes) });
    await load.until(() => load.admitted() >= LIMIT / 2, "half of the limit to be used");
    for (const relay of relays) relay.cut();
    await load.until(() => load.refused >= 1000, "nodes that have used up their shares");
    for (const relay of relays) relay.heal();
    await fleet.settled();
    await load.further(LIMIT);
    await load.stop();
    const [admitted, unowned] = [load.admitted(), await counter("unowned")];
    assert.ok(unowned > 0 && admitted > LIMIT, `${admitted} of ${LIMIT}, ${unowned} of them without an owner`);
    assert.ok(admitted <= LIMIT + unowned, `${admitted} of ${LIMIT}, ${unowned} of them without an owner`);
    await waitFor(async () => (await counter("overshoot")) >= admitted - LIMIT, { what: "the overshoot" });
    assert.ok((await counter("overshoot")) <= unowned);
    await assertExact("after the cut");
  });

  test("nodes that are suspended until the others have replaced them, and continue: limits hold again", async () => {
    const key = "suspended";
    const owner = ownerOf("closed", key);
    const suspended = [owner, ...fleet.nodes.filter((node) => node !== owner).slice(0, 2)];
    const others = fleet.nodes.filter((node) => !suspended.includes(node));
    const [ofOthers, ofAll] = [await countersOf(others), await countersOf(fleet.nodes)];
    let running: readonly FleetProcess[] = fleet.nodes;
    const load = startLoad({ path: "/closed", key: () => key, to: () => oneOf(running) });
    await load.until(() => load.admitted() >= LIMIT / 2, "half of the limit to be used");
    running = others;
    for (const { process } of suspended) process.signal("SIGSTOP");
    await fleet.settled(others);
    await waitFor(async () => (await ofOthers("incomplete")) >= others.length, { what: "the end of the hand-over" });
    await load.further(LIMIT);
    for (const { process } of suspended) process.signal("SIGCONT");
    running = fleet.nodes;
    await fleet.settled();
    await load.further(LIMIT);
    await load.stop();
    const admitted = load.admitted();
    assert.ok(admitted <= 2 * LIMIT, `${admitted} of ${LIMIT} were admitted by each part of the fleet`);
    await waitFor(async () => (await ofAll("overshoot")) >= admitted - LIMIT, { what: "the overshoot" });
    await assertExact("after the suspension");
  });

  test("100,000 keys are counted exactly, also after a node with most of them has shut down", async () => {
    const [most, ...others] = fleet.nodes;
    assert.ok(most);
    const [counter, ofOthers] = [await countersOf(fleet.nodes), await countersOf(others)];
    const first = startLoad({
      path: "/keys",
      key: (at) => `key-${at}`,
      to: () => (random() < 0.9 ? most : oneOf(others)),
      requests: KEYS,
      // So that the messages of a node have many counters.
      clients: 128,
    });
    assert.equal((await first.ended()).admitted(), KEYS);
    for (const node of fleet.nodes) assert.ok(memoryOf(node) < 400, `${memoryOf(node)} MB`);
    const sample = async (offset: number) => {
      const chosen = Array.from({ length: 400 }, (_, at) => offset + at * (KEYS / 400));
      const further = startLoad({
        path: "/keys",
        key: (at) => `key-${chosen[at % chosen.length]}`,
        to: () => oneOf(others),
        requests: chosen.length * OF_KEY * 1.5,
      });
      const unowned = await ofOthers("unowned");
      const admitted = (await further.ended()).admitted();
      const left = chosen.length * (OF_KEY - 1);
      // On a busy machine, an owner may not answer in time.
      const atMost = left + (await ofOthers("unowned")) - unowned;
      assert.ok(admitted >= left && admitted <= atMost, `${admitted} were admitted, not ${left} to ${atMost}`);
    };
    await sample(0);
    assert.equal(await counter("replaced"), 0);
    assert.equal((await most.process.stop()).code, 0);
    await fleet.settled(others);
    await sample(1);
  });
});
