/** Parts of the release that are replaced, scaled up and scaled down under load. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { waitFor } from "../../../tools/process/index.ts";
import { allAnswered, answeredByUsers, type CallerLoad, chartLoadText, eachSeenOnce } from "./chart-load.ts";
import { type ChartScene, minutes, proxy, releaseNamespace } from "./chart-scene.ts";
import { release } from "./helm.ts";
import { keptAtATime } from "./load.ts";

const endpoint = `${proxy}/users/graphql`;
const query = `${endpoint}?query=${encodeURIComponent("{ users(first: 1) { id } }")}`;
/** URL of an upstream that reports the requests it received. Each request takes 100 ms: some are always in flight. */
const recording = `${proxy}/slow?takes=100`;

interface Change {
  /** The number of nodes that the change removes. */
  readonly nodesLess: number;
  /**
   * Makes the change. Calls `connect` once, while the nodes to be removed run, so that clients connect to all of them.
   */
  readonly make: (connect: () => Promise<void>) => Promise<void>;
}

/**
 * Makes a change under load. Asserts that every request is answered, all users are created, and every subscriber
 * receives them. Resolves to how often each subscriber reconnected (`cameAgain`), and to the report of the queries.
 */
async function undisturbed(
  scene: ChartScene,
  t: TestContext,
  { nodesLess, make }: Change,
): Promise<{ readonly cameAgain: readonly number[]; readonly queries: CallerLoad }> {
  const { callers, consumer, statusOf } = scene;
  await callers.serve();
  await waitFor(async () => (await statusOf("/slow")) === 200, { what: "the recording upstream to be served" });
  const headers = await consumer();
  const endQueries = await callers.load({ url: query, headers });
  let endRecorded: Awaited<ReturnType<ChartScene["callers"]["load"]>> | undefined;
  let endFollowers: Awaited<ReturnType<ChartScene["callers"]["followers"]>> | undefined;
  let queries: CallerLoad;
  let recorded: CallerLoad | undefined;
  let followed: Awaited<ReturnType<NonNullable<typeof endFollowers>>> | undefined;
  const operators = await followOperators(scene);
  try {
    await make(async () => {
      endRecorded = await callers.load({ url: recording, headers: {}, every: 40 });
      endFollowers = await callers.followers({ url: endpoint, headers, each: 8 });
    });
  } finally {
    [queries, recorded] = await Promise.all([endQueries(), endRecorded?.()]);
    followed = await endFollowers?.();
    await operators.stop();
  }
  assert.ok(recorded && followed, "no subscriber ran");
  const { written, failures, followers } = followed;
  const sum = (of: (one: (typeof followers)[number]) => number) => followers.reduce((total, one) => total + of(one), 0);
  t.diagnostic(`queries: ${chartLoadText(queries)}`);
  t.diagnostic(`recorded requests: ${chartLoadText(recorded)}`);
  t.diagnostic(
    `${written} users created; ${followers.length} followers reconnected ${sum((one) => one.ends.length)} times, ` +
      `caught up on ${sum((one) => one.caughtUp)} users and missed ${sum((one) => one.missed)}`,
  );
  const started = await scene.kubectl("logs", `deployment/${release}-operator`, "--tail=5", "--timestamps");
  const meanwhile = `the log of the operator before the change:\n${operators.output()}\nand of the one after it:\n${started}`;
  for (const load of [queries, recorded]) allAnswered(load, { connectionsEnded: nodesLess * keptAtATime, meanwhile });
  eachSeenOnce(recorded, recorded.seen);
  assert.deepEqual(failures, []);
  assert.equal(followers.length, 16);
  for (const one of followers)
    assert.deepEqual(
      { faults: one.faults, missed: one.missed, twice: one.twice, hearsLast: one.hearsLast },
      { faults: [], missed: 0, twice: 0, hearsLast: true },
      JSON.stringify(one),
    );
  return { cameAgain: followers.map(({ ends }) => ends.length), queries };
}

/** Follows the logs of the operators that run now: after their pods are removed, kubectl cannot read these logs. */
async function followOperators({ cluster }: ChartScene) {
  const selector = "app.kubernetes.io/component=operator";
  const args = ["--namespace", releaseNamespace, "logs", "--selector", selector, "--follow", "--prefix", "--tail=3"];
  return cluster.start("kubectl", args, { name: "kubectl logs", ready: /"msg"/ });
}

/** Addresses of the nodes that answer new connections. */
async function answering({ callers }: ChartScene): Promise<ReadonlySet<string>> {
  const once = () => callers.ask(`${proxy}/slow`, { headers: { connection: "close" } });
  const answers = await Promise.all(Array.from({ length: 20 }, once));
  return new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body));
}

export function chartRollouts(scene: () => ChartScene): void {
  const settled = (component: string, count: number) =>
    // The old pods are stopped only when the new ones are Ready.
    waitFor(async () => (await scene().podsOf(component)).length === count, {
      what: `${count} pods of ${component}, and the old pods to be removed`,
      timeout: 90_000,
      interval: 500,
    });

  test("during a simultaneous rollout of gateway, operator and user API, no query fails, and every subscription resumes", {
    timeout: 4 * minutes,
  }, async (t) => {
    const { kubectl } = scene();
    const parts = { gateway: 2, operator: 1, "user-api": 2 } as const;
    const make = async (connect: () => Promise<void>) => {
      await connect();
      const names = Object.keys(parts).map((part) => `deployment/${release}-${part}`);
      await kubectl("rollout", "restart", ...names);
      for (const name of names) await kubectl("rollout", "status", name, "--timeout=2m");
      for (const [part, count] of Object.entries(parts)) await settled(part, count);
    };
    const { cameAgain } = await undisturbed(scene(), t, { nodesLess: parts.gateway, make });
    assert.ok(
      cameAgain.every((times) => times > 0),
      `a subscriber was never disconnected: ${cameAgain}`,
    );
  });

  test("while the gateway scales from one node to five and then to two, no query fails, and every subscription resumes", {
    timeout: 4 * minutes,
  }, async (t) => {
    const { kubectl } = scene();
    const scale = (count: number) => kubectl("scale", `deployment/${release}-gateway`, `--replicas=${count}`);
    await scale(1);
    await settled("gateway", 1);
    const make = async (connect: () => Promise<void>) => {
      await scale(5);
      await kubectl("rollout", "status", `deployment/${release}-gateway`, "--timeout=2m");
      // The clients connect to all five nodes, three of which are removed.
      await waitFor(async () => (await answering(scene())).size === 5, { what: "the Service to contain all nodes" });
      await connect();
      await scale(2);
      await settled("gateway", 2);
    };
    const { cameAgain, queries } = await undisturbed(scene(), t, { nodesLess: 3, make });
    assert.ok(
      cameAgain.some((times) => times > 0),
      "no subscriber was disconnected",
    );
    // The user API's pods were not replaced, so their logs are complete.
    eachSeenOnce(queries, await answeredByUsers(scene(), queries));
  });
}
