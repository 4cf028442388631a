/**
 * Two operators on a real API server: one leads, the other takes over, and nodes refuse the former leader's pushes.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { freePort, type Process, waitFor } from "../../../tools/process/index.ts";
import { getUrl, startNamedUpstream } from "../../product/client.ts";
import { startSuite } from "../../product/cluster/suite.ts";
import { routeObject, serviceObject } from "../../product/resources.ts";
import { type BackgroundLoad, underLoad } from "../../product/under-load.ts";

const suite = await startSuite();
after(() => suite.stop());
const { chosen } = suite;
const { kubectl } = suite.plane;
const nodes = [`http://${chosen.proxy}`, `http://${chosen.proxy2}`];

interface Operator {
  readonly listen: string;
  process: Process;
}
interface StatusBody {
  readonly term: number | null;
  readonly leader: string | null;
  readonly nodes: readonly { readonly address: string; readonly term?: number; readonly revision?: number }[];
}

const operators: Operator[] = [{ listen: chosen.operator, process: suite.part("operator") }];
const upstream = await startNamedUpstream("echo");
after(() => upstream.close());

/** The highest term that the operators have reported for each node, by the node's address. */
const terms = new Map<string, number>();
async function statusOf({ listen }: Operator): Promise<StatusBody> {
  const status = (await getUrl(`http://${listen}/status`)).body as StatusBody;
  for (const { address, term } of status.nodes) {
    if (term === undefined) continue;
    const seen = terms.get(address) ?? 0;
    // An operator's view of a node may be half a second old, so it may still report an earlier term for a moment.
    if (term < seen) assert.ok((await again(listen, address)) >= seen, `${address} went back from term ${seen}`);
    terms.set(address, Math.max(seen, term));
  }
  return status;
}
async function again(listen: string, address: string): Promise<number> {
  return waitFor(
    async () => {
      const { nodes: list } = (await getUrl(`http://${listen}/status`)).body as StatusBody;
      const term = list.find((node) => node.address === address)?.term ?? 0;
      return term >= (terms.get(address) ?? 0) ? term : undefined;
    },
    { what: `${address} to report its latest term`, timeout: 2000 },
  );
}

async function begin(operator: Operator): Promise<void> {
  operator.process = await suite.start("operator", {
    SLUICE_OPERATOR_LISTEN: operator.listen,
    SLUICE_IDENTITY: operator.listen,
  });
  await operator.process.waitForOutput(/ is up"/, { timeout: 20_000 });
  await waitFor(async () => (await getUrl(`http://${operator.listen}/readyz`)).status === 200, {
    what: "the operator to have read everything",
  });
}

before(async () => {
  await suite.apply(serviceObject("echo", upstream.port), routeObject("echo"));
  await suite.programmed("gwroute/echo");
  const second: Operator = { listen: `127.0.0.1:${await freePort()}`, process: suite.part("operator") };
  operators.push(second);
  await begin(second);
});
after(() => Promise.all(operators.map(({ process }) => process.stop())));

/** Waits until exactly one operator leads and all nodes report its term. Resolves to both operators and the term. */
async function roles(): Promise<{ readonly leader: Operator; readonly other: Operator; readonly term: number }> {
  return waitFor(
    async () => {
      const all = await Promise.all(operators.map(async (operator) => ({ operator, ...(await statusOf(operator)) })));
      const [leading, ...more] = all.filter(({ term }) => term !== null);
      const other = all.find(({ operator }) => operator !== leading?.operator);
      if (!leading || leading.term === null || !other || more.length > 0) return undefined;
      if (leading.nodes.some(({ term }) => term !== leading.term)) return undefined;
      return { leader: leading.operator, other: other.operator, term: leading.term };
    },
    { what: "one of the operators to lead", timeout: 30_000 },
  );
}

async function isServed(path: string, timeout: number): Promise<void> {
  const serves = async () => {
    const answers = await Promise.all(nodes.map((node) => getUrl(`${node}${path}`)));
    return answers.every(({ status }) => status === 200);
  };
  await waitFor(serves, { what: `both nodes to serve ${path}`, timeout });
}

const add = (name: string) => suite.apply(routeObject(name, { serviceRef: { name: "echo" } }));

async function withoutLoss(work: () => Promise<unknown>): Promise<void> {
  const loads: Readonly<Record<string, BackgroundLoad>> = await underLoad(
    nodes.map((node) => `${node}/echo`),
    work,
  );
  for (const [url, { answered, failures }] of Object.entries(loads))
    assert.deepEqual(failures.slice(0, 5), [], `${failures.length} of ${answered} requests to ${url} failed`);
}

test("one of two operators leads, and the other operator follows and is ready", async () => {
  const { leader, other, term } = await roles();
  const status = await waitFor(
    async () => {
      const now = await statusOf(other);
      return now.nodes.every((node) => node.term === term) ? now : undefined;
    },
    { what: "the other operator to have polled the nodes too" },
  );
  assert.equal(status.term, null);
  assert.equal(status.leader, (await statusOf(leader)).leader);
  const gauges = await Promise.all(
    [leader, other].map(async ({ listen }) => {
      const text = await (await fetch(`http://${listen}/metrics`)).text();
      return /^leader_election_master_status\{.*\} (\d)$/m.exec(text)?.[1];
    }),
  );
  assert.deepEqual(gauges, ["1", "0"]);
});

test("after the leader is shut down gracefully, a change takes effect within 3 s, statuses are written, and no request fails", async () => {
  const { leader, other, term } = await roles();
  await withoutLoss(async () => {
    const ended = performance.now();
    leader.process.signal("SIGTERM");
    await add("after-term");
    await isServed("/after-term", 3000 - (performance.now() - ended));
  });
  await leader.process.ended();
  assert.equal((await statusOf(other)).term, term + 1);
  await suite.programmed("gwroute/after-term");
  await begin(leader);
});

test("after the leader is killed with SIGKILL, a change takes effect within 20 s, statuses are written, and no request fails", async () => {
  const { leader, other, term } = await roles();
  await withoutLoss(async () => {
    const killed = performance.now();
    await leader.process.kill9();
    await add("after-kill");
    await isServed("/after-kill", 20_000 - (performance.now() - killed));
  });
  assert.equal((await statusOf(other)).term, term + 1);
  await suite.programmed("gwroute/after-kill");
  await begin(leader);
});

test("a leader that resumes after a long suspension is a follower, and no node accepts its pushes", async () => {
  const { leader, other, term } = await roles();
  leader.process.signal("SIGSTOP");
  try {
    await add("while-stopped");
    await isServed("/while-stopped", 20_000);
    await kubectl(["delete", "gwroute", "after-kill"]);
  } finally {
    leader.process.signal("SIGCONT");
  }
  await add("after-stop");
  await isServed("/after-stop", 5000);
  const now = await roles();
  assert.equal(now.leader, other);
  assert.equal(now.term, term + 1);
  assert.equal((await getUrl(`${nodes[0]}/after-kill`)).status, 404);
  assert.doesNotMatch(leader.process.output().slice(-5000), /"level":50/);
});

test("after another holder has overwritten the Lease, the leader stops leading, and an operator leads again once that Lease has expired", async () => {
  const { term } = await roles();
  const stolen = { spec: { holderIdentity: "thief", leaseTransitions: term + 5, leaseDurationSeconds: 5 } };
  await kubectl(["patch", "lease", "sluice-operator", "--type=merge", "-p", JSON.stringify(stolen)]);
  const leading = async () => (await Promise.all(operators.map(statusOf))).filter((one) => one.term !== null).length;
  await waitFor(async () => (await leading()) === 0, { what: "the former leader to stop", timeout: 6000 });
  await add("after-theft");
  await isServed("/after-theft", 20_000);
  assert.equal((await roles()).term, term + 6);
});

test("after the Lease is deleted, changes still take effect, and the next term is above the last term of the nodes", async () => {
  const { term } = await roles();
  await kubectl(["delete", "lease", "sluice-operator"]);
  await add("after-deletion");
  await isServed("/after-deletion", 20_000);
  await waitFor(async () => (await roles()).term > term, { what: "a push with a later term", timeout: 20_000 });
});
