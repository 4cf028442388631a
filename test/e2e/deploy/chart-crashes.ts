/** Nodes of the release that are killed, with and without an operator and an API server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { type ChartScene, minutes, proxy } from "./chart-scene.ts";
import { release } from "./helm.ts";
import { keptAtATime } from "./load.ts";

/** The process of a gateway node: its pid in the Kubernetes node, and its pod's address. */
interface NodeProcess {
  readonly id: string;
  readonly address: string;
}

/** The processes of all gateway nodes. */
async function nodes({ cluster }: ChartScene): Promise<readonly NodeProcess[]> {
  const script = `
    import { readdirSync, readFileSync } from "node:fs";
    const read = (id, file) => { try { return readFileSync("/proc/" + id + "/" + file, "utf8") } catch { return "" } };
    const isNode = (id) => { const words = read(id, "cmdline").split("\\0"); return words[0].endsWith("/node") && words.at(-2) === "gateway" };
    const address = (id) => /^ +\\|-- (10\\.244\\.0\\.[0-9]+)\\n +\\/32 host LOCAL/m.exec(read(id, "net/fib_trie"))?.[1] ?? "";
    const ids = readdirSync("/proc").filter(isNode);
    console.log(JSON.stringify(ids.map((id) => ({ id, address: address(id) }))));`;
  const { stdout, stderr } = await cluster.run(process.execPath, ["--input-type=module", "--eval", script]);
  assert.equal(stderr, "");
  return JSON.parse(stdout);
}

/** Waits until `count` nodes run, not counting the killed processes. */
const started = (scene: ChartScene, count: number, killed: readonly NodeProcess[]) =>
  waitFor(async () => (await nodes(scene)).filter(({ id }) => killed.every((one) => one.id !== id)).length === count, {
    what: "the kubelet to restart the killed container",
    timeout: minutes,
    interval: 500,
  });

export function killedNode(scene: () => ChartScene): void {
  test("when a node is killed with SIGKILL, only its requests in flight fail, and its subscribers reconnect", async (t) => {
    const { cluster, callers, consumer, statusOf } = scene();
    await callers.serve();
    await waitFor(async () => (await statusOf("/slow")) === 200, { what: "the slow upstream to be served" });
    const [killed] = await nodes(scene());
    assert.ok(killed);
    const endFollowers = await callers.followers({
      url: `${proxy}/users/graphql`,
      headers: await consumer(),
      each: 8,
    });
    const endLoad = await callers.load({ url: `${proxy}/slow`, headers: {} });
    let load: Awaited<ReturnType<typeof endLoad>>;
    let followed: Awaited<ReturnType<typeof endFollowers>>;
    try {
      await waitFor(() => callers.ask(`${proxy}/slow`), { what: "one more answer" });
      await cluster.run("kill", ["-9", killed.id]);
      await started(scene(), 2, [killed]);
      await waitFor(() => callers.ask(`${proxy}/slow`), { what: "one more answer" });
    } finally {
      load = await endLoad();
      followed = await endFollowers();
    }
    const { failures: notCreated, followers } = followed;
    const { statuses, failures, failed, refused, repeated, seen } = load;
    const cut = seen.filter(({ from, answered }) => from === killed.address && !answered);
    const again = followers.filter(({ ends }) => ends.length > 0);
    t.diagnostic(
      `${statuses["200"]} requests were answered, ${failed.length} failed (${JSON.stringify(failures)}); ${cut.length} requests ` +
        `of the killed node were at the upstream; ${refused.length} connections were refused, and ${repeated.length} keep-alive ` +
        `connections ended before any byte of a response: those requests were sent again; ${again.length} of ` +
        `${followers.length} followers were cut off, ${notCreated.length} users were not created`,
    );
    assert.deepEqual(Object.keys(statuses), ["200"]);
    assert.ok(cut.length > 0, "no request was in flight");
    for (const id of failed)
      assert.ok(
        seen.every(({ id: other, from }) => other !== id || from === killed.address),
        `request ${id} failed, although it was not in flight in the killed node`,
      );
    // Each request that was cut when the node was killed either failed at its client or was sent again.
    for (const { id } of cut)
      assert.ok(failed.includes(id) || repeated.includes(id), `request ${id} was cut, and its client got no error`);
    // Only requests on the keep-alive connections that broke when the node died may be repeated, one per connection.
    assert.ok(repeated.length <= keptAtATime, `${repeated.length} requests were sent again`);
    for (const [id, [first, ...more]] of Map.groupBy(seen, (one) => one.id))
      if (more.length > 0)
        assert.deepEqual(
          [first?.from, more.length, repeated.includes(id)],
          [killed.address, 1, true],
          `the upstream received ${id} again`,
        );
    // Users are created one at a time, so at most one creation was in flight.
    assert.ok(notCreated.length <= 1, notCreated.join("\n"));
    assert.ok(again.length > 0 && again.length < followers.length, `${again.length} followers were cut off`);
    for (const one of followers)
      assert.deepEqual(
        { faults: one.ends.length > 0 ? [] : one.faults, missed: one.missed, hearsLast: one.hearsLast },
        { faults: [], missed: 0, hearsLast: true },
        JSON.stringify(one),
      );
  });
}

/**
 * Must be last, because it stops the API server and does not start it again: after a restart of the API server, parts
 * of Kubernetes wait for up to half a minute before they connect again.
 */
export function awayFromEverybody(scene: () => ChartScene): void {
  test("nodes that restart while operator and API server are unreachable serve their saved documents", async () => {
    const { cluster, kubectl, statusOf } = scene();
    await kubectl("scale", `deployment/${release}-operator`, "--replicas=0");
    await kubectl("wait", "--for=delete", "pod", "-l", "app.kubernetes.io/component=operator", "--timeout=1m");
    await cluster.stopComponent("api-server");
    const killed = await nodes(scene());
    assert.equal(killed.length, 2);
    await cluster.run("kill", ["-9", ...killed.map(({ id }) => id)]);
    await started(scene(), 2, killed);
    // A node without a document would not answer 401. Ten consecutive requests almost certainly reach both nodes.
    let inARow = 0;
    const asked = async () => {
      inARow = (await statusOf("/users/healthz").catch(() => 0)) === 401 ? inARow + 1 : 0;
      return inARow === 10;
    };
    await waitFor(asked, { what: "the saved document to be served", timeout: minutes, interval: 200 });
  });
}
