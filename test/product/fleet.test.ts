/** Three nodes with one declarative file each enforce limits together (policy fleet), over real connections. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { chargedTokens } from "../../gateway/src/counters/fleet/accounts.ts";
import type { ReportedCounter } from "../../gateway/src/counters/fleet/messages.ts";
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";
import { makeAuthority } from "../../tools/programs/certificates.ts";
import { getUrl } from "./client.ts";

const main = await builtProgram("gateway");
const LIMIT = 300;
const paths = ["/exact", "/crash", "/joined", "/left", "/restarted"] as const;

/** Each path has a counter that all callers share. */
const file = JSON.stringify({
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
});

interface FleetStatus {
  readonly epoch: number;
  readonly members: readonly string[];
}

interface Node {
  readonly process: Process;
  readonly proxy: string;
  readonly status: string;
}

describe("three nodes that count together without Redis", () => {
  const folder = temporaryFolder("fleet");
  let addresses: readonly string[] = [];
  const nodes: Node[] = [];

  before(async () => {
    const authority = await makeAuthority();
    const sans = ["sluice-gateway"];
    const { certificate, key } = await authority.issue({ name: "sluice-gateway", sans, usage: "peer" });
    const texts = { "node.crt": certificate, "node.key": key, "ca.crt": authority.certificate, "sluice.json": file };
    for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder.path, name), text);
    addresses = await Promise.all([0, 1, 2].map(async () => `127.0.0.1:${await freePort()}`));
    nodes.push(...(await Promise.all(addresses.map((_, at) => startNode(at)))));
    await settled(nodes);
  });
  after(async () => {
    await Promise.all(nodes.map(({ process: started }) => started.kill9()));
    folder.remove();
  });

  /** The third node has two workers. */
  async function startNode(at: number, settings: Readonly<Record<string, string>> = {}): Promise<Node> {
    const [proxy, status] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`];
    const env = {
      SLUICE_SOURCE: "file",
      SLUICE_FILE: "sluice.json",
      SLUICE_PROXY_LISTEN: proxy,
      SLUICE_STATUS_LISTEN: status,
      SLUICE_PEER_LISTEN: addresses[at],
      SLUICE_PEERS: addresses.join(","),
      SLUICE_PEER_TLS_CERT: "node.crt",
      SLUICE_PEER_TLS_KEY: "node.key",
      SLUICE_PEER_TLS_CA: "ca.crt",
      SLUICE_PEER_STATE: `state-${at}/counters.json`,
      SLUICE_WORKERS: at === 2 ? "2" : "1",
      SLUICE_LOG_LEVEL: "warn",
      ...settings,
    };
    const started = await startProcess(main, ["gateway"], {
      name: `node ${at}`,
      cwd: folder.path,
      env,
      ready: async () => (await getUrl(`http://${status}/status/ready`)).status === 200,
    });
    return { process: started, proxy: `http://${proxy}`, status: `http://${status}` };
  }

  const viewOf = async ({ status }: Node): Promise<FleetStatus> =>
    ((await getUrl(`${status}/status`)).body as { readonly sluice: { readonly fleet: FleetStatus } }).sluice.fleet;

  /** Waits until these nodes, and no others, are members of the same view. */
  const settled = (members: readonly Node[]) =>
    waitFor(
      async () => {
        const views = await Promise.all(members.map(viewOf));
        return views.every((view) => view.members.length === members.length && view.epoch === views[0]?.epoch);
      },
      { what: "the same view on all nodes" },
    );

  /** Sends requests to random nodes, a few at a time. Returns the number of admitted requests of each node. */
  async function admitted(path: (typeof paths)[number], requests: number, weights: ReadonlyMap<Node, number>) {
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

  async function metricOf({ status }: Node, name: string): Promise<number> {
    const text = String((await getUrl(`${status}/metrics`)).body);
    return Number(new RegExp(`^${name}\\{\\} (\\d+)$`, "m").exec(text)?.[1]);
  }

  /** The tokens of all counters in the files of the nodes. */
  function savedTokens(): number {
    const totals = new Map<string, number>();
    for (const at of addresses.keys()) {
      const file = join(folder.path, `state-${at}`, "counters.json");
      const saved: readonly ReportedCounter[] = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
      for (const { counter, accounts } of saved) {
        const total = accounts.reduce((sum, [, account]) => sum + chargedTokens(account), 0);
        totals.set(counter.name, Math.max(totals.get(counter.name) ?? 0, total));
      }
    }
    return [...totals.values()].reduce((sum, total) => sum + total, 0);
  }

  const even = (members: readonly Node[]) => new Map(members.map((node) => [node, 1]));

  for (const [name, message] of [
    ["127.0.0.1", /SLUICE_PEER_NAME: 127\.0\.0\.1 is an IP address; set a DNS name/],
    ["other", /SLUICE_PEER_NAME: this node's certificate does not contain the DNS name other, but DNS:sluice-gateway/],
  ] as const)
    test(`a node with SLUICE_PEER_NAME=${name} does not start, and says what to set`, async () => {
      await assert.rejects(startNode(0, { SLUICE_PEER_NAME: name }), message);
    });

  test("they admit exactly the limit, although most requests reach one of them", async () => {
    const [one, two, three] = nodes;
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
    const [killed, ...others] = nodes.toReversed();
    assert.ok(killed);
    const before = await admitted("/crash", LIMIT / 2, even(nodes));
    assert.equal(before.total, LIMIT / 2);
    await killed.process.kill9();
    await settled(others);
    const hasTakenOver = async (node: Node) => (await metricOf(node, "sluice_limit_incomplete_handovers_total")) === 1;
    await waitFor(async () => (await Promise.all(others.map(hasTakenOver))).every(Boolean), {
      what: "the others to take over the counters of the killed node",
    });
    const later = await admitted("/crash", LIMIT, even(others));
    const total = before.total + later.total;
    const byKilled = before.counts.get(killed) ?? 0;
    assert.ok(total <= LIMIT + byKilled && total >= LIMIT * 0.8, `${total}, ${byKilled} of the killed node`);
    nodes.splice(nodes.indexOf(killed), 1, await startNode(2));
    await settled(nodes);
    assert.equal((await admitted("/joined", LIMIT + 50, even(nodes))).total, LIMIT);
  });

  test("a node that shuts down hands its counters over, so that the limit stays exact", async () => {
    const [leaving, ...others] = nodes;
    assert.ok(leaving);
    const before = await admitted("/left", LIMIT / 2, even(nodes));
    assert.deepEqual((await leaving.process.stop()).code, 0);
    await settled(others);
    const later = await admitted("/left", LIMIT, even(others));
    assert.equal(before.total + later.total, LIMIT);
    for (const node of others) assert.equal(await metricOf(node, "sluice_limit_overshoot_total"), 0);
  });

  test("after all nodes were killed at once, the quota of a year continues with what they had saved", async () => {
    const running = nodes.splice(0).filter(({ process: { exit } }) => exit() === undefined);
    const savedBefore = savedTokens();
    const before = await admitted("/restarted", LIMIT / 2, even(running));
    assert.equal(before.total, LIMIT / 2);
    await waitFor(async () => savedTokens() - savedBefore >= LIMIT / 2, { what: "the nodes to save the requests" });
    await Promise.all(running.map(({ process: started }) => started.kill9()));
    nodes.push(...(await Promise.all(addresses.map((_, at) => startNode(at)))));
    await settled(nodes);
    const later = await admitted("/restarted", LIMIT, even(nodes));
    const total = before.total + later.total;
    assert.ok(total <= LIMIT && total >= LIMIT * 0.8, `${total}`);
  });
});
