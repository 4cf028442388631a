/** Three nodes with one declarative file each enforce limits together (policy fleet), over real connections. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chargedTokens } from "../../gateway/src/counters/fleet/accounts.ts";
import type { ReportedCounter } from "../../gateway/src/counters/fleet/messages.ts";
import { waitFor } from "../../tools/process/index.ts";
import { getUrl } from "./client.ts";
import { FileFleet, type FleetProcess, fleetMetric } from "./fleet-nodes.ts";

const SIZE = 3;
const LIMIT = 300;
const paths = ["/exact", "/crash", "/joined", "/left", "/restarted"] as const;

/** Each path has a counter that all callers share. */
const document = {
  _format_version: "3.0",
  services: paths.map((path) => ({
    name: path.slice(1),
    url: "http://upstream.test",
    routes: [{ name: path.slice(1), paths: [path] }],
    plugins: [
      {
        name: "rate-limiting",
        config: { year: LIMIT, policy: "fleet", fleet_fallback: "closed", limit_by: "service" },
      },
      { name: "request-termination", config: { status_code: 200 } },
    ],
  })),
};

describe("three nodes that count together without Redis", () => {
  let fleet: FileFleet;
  /** The third node has two workers. */
  const settings = (at: number) => ({
    SLUICE_WORKERS: at === 2 ? "2" : "1",
    SLUICE_PEER_STATE: `state-${at}/counters.json`,
  });

  before(async () => {
    fleet = await FileFleet.start({ size: SIZE, document, settings });
  });
  after(() => fleet?.close());

  /** Sends requests to random nodes, a few at a time. Returns the number of admitted requests of each node. */
  async function admitted(path: (typeof paths)[number], requests: number, weights: ReadonlyMap<FleetProcess, number>) {
    const targets = [...weights].flatMap(([node, weight]) => Array.from({ length: weight }, () => node));
    const counts = new Map([...weights.keys()].map((node) => [node, 0]));
    let sent = 0;
    const client = async () => {
      while (sent++ < requests) {
        const node = targets[Math.floor(Math.random() * targets.length)] ?? assert.fail();
        const { status, body } = await getUrl(`${node.proxy}${path}`);
        assert.ok(status === 200 || status === 429, `${status} ${JSON.stringify(body)}`);
        if (status === 200) counts.set(node, (counts.get(node) ?? 0) + 1);
      }
    };
    await Promise.all(Array.from({ length: 12 }, client));
    return { total: [...counts.values()].reduce((sum, count) => sum + count, 0), counts };
  }

  /** The tokens of each counter in the files of the nodes. The names of counters are hashes. */
  function savedTokens(): readonly number[] {
    const totals = new Map<string, number>();
    for (let at = 0; at < SIZE; at++) {
      const file = join(fleet.folder, `state-${at}`, "counters.json");
      const saved: readonly ReportedCounter[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
      for (const { counter, accounts } of saved) {
        const total = accounts.reduce((sum, [, account]) => sum + chargedTokens(account), 0);
        totals.set(counter.name, Math.max(totals.get(counter.name) ?? 0, total));
      }
    }
    return [...totals.values()];
  }

  const even = (members: readonly FleetProcess[]) => new Map(members.map((node) => [node, 1]));

  for (const [name, message] of [
    ["127.0.0.1", /SLUICE_PEER_NAME: 127\.0\.0\.1 is an IP address; set a DNS name/],
    ["other", /SLUICE_PEER_NAME: this node's certificate does not contain the DNS name other, but DNS:sluice-gateway/],
  ] as const)
    test(`a node with SLUICE_PEER_NAME=${name} does not start, and says what to set`, async () => {
      await assert.rejects(fleet.startNode(0, { SLUICE_PEER_NAME: name }), message);
    });

  test("they admit exactly the limit, although most requests reach one of them", async () => {
    const [one, two, three] = fleet.nodes;
    assert.ok(one && two && three);
    const weights = new Map([
      [one, 1],
      [two, 8],
      [three, 1],
    ]);
    assert.equal((await admitted("/exact", LIMIT + 100, weights)).total, LIMIT);
    const last = await getUrl(`${one.proxy}/exact`);
    assert.deepEqual(
      [last.status, last.headers.get("x-ratelimit-limit-year"), last.headers.get("x-ratelimit-remaining-year")],
      [429, String(LIMIT), "0"],
    );
  });

  test("when a node is killed, the others admit at most the limit, and continue with a new node in its place", async () => {
    const [killed, ...others] = fleet.nodes.toReversed();
    assert.ok(killed);
    const before = await admitted("/crash", LIMIT / 2, even(fleet.nodes));
    assert.equal(before.total, LIMIT / 2);
    await killed.process.kill9();
    await fleet.settled(others);
    const hasTakenOver = async (node: FleetProcess) =>
      (await fleetMetric(node, "sluice_limit_incomplete_handovers_total")) === 1;
    await waitFor(async () => (await Promise.all(others.map(hasTakenOver))).every(Boolean), {
      what: "the others to take over the counters of the killed node",
    });
    const later = await admitted("/crash", LIMIT, even(others));
    const total = before.total + later.total;
    const byKilled = before.counts.get(killed) ?? 0;
    assert.ok(total <= LIMIT + byKilled && total >= LIMIT * 0.8, `${total}, ${byKilled} of the killed node`);
    await fleet.startNode(2);
    await fleet.settled();
    assert.equal((await admitted("/joined", LIMIT + 50, even(fleet.nodes))).total, LIMIT);
  });

  test("a node that shuts down hands its counters over, so that the limit stays exact", async () => {
    const [leaving, ...others] = fleet.nodes;
    assert.ok(leaving);
    const before = await admitted("/left", LIMIT / 2, even(fleet.nodes));
    assert.deepEqual((await leaving.process.stop()).code, 0);
    await fleet.settled(others);
    const later = await admitted("/left", LIMIT, even(others));
    assert.equal(before.total + later.total, LIMIT);
    for (const node of others) assert.equal(await fleetMetric(node, "sluice_limit_overshoot_total"), 0);
  });

  test("after all nodes were killed at once, the quota of a year continues with what they had saved", async () => {
    const running = fleet.nodes.filter(({ process: { exit } }) => exit() === undefined);
    const before = await admitted("/restarted", LIMIT / 2, even(running));
    assert.equal(before.total, LIMIT / 2);
    // Each of the other counters has more than half of its tokens, too.
    const areSaved = (each: readonly number[]) =>
      each.length === paths.length && each.every((tokens) => tokens >= LIMIT / 2);
    await waitFor(async () => areSaved(savedTokens()), { what: "the nodes to save the requests" });
    await Promise.all(running.map(({ process: started }) => started.kill9()));
    await Promise.all(Array.from({ length: SIZE }, (_, at) => fleet.startNode(at)));
    await fleet.settled();
    const later = await admitted("/restarted", LIMIT, even(fleet.nodes));
    const total = before.total + later.total;
    assert.ok(total <= LIMIT && total >= LIMIT * 0.8, `${total}`);
  });
});
