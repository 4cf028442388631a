/** Parts of the release that are replaced, multiplied and taken away while others use them. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { waitFor } from "../../process/index.ts";
import { minutes, proxy, type Scene } from "./chart-scene.ts";
import { release } from "./helm.ts";

const endpoint = `${proxy}/users/graphql`;
const query = `${endpoint}?query=${encodeURIComponent("{ users(first: 1) { id } }")}`;

/** What holds while something goes on: queries are answered, users are created, and followers hear of them. */
async function undisturbed(
  { callers, consumer }: Scene,
  t: TestContext,
  change: (followers: () => Promise<void>) => Promise<void>,
): Promise<{ readonly cameAgain: readonly number[] }> {
  const headers = await consumer();
  const endLoad = await callers.load({ url: query, headers });
  let endFollowers: Awaited<ReturnType<Scene["callers"]["followers"]>> | undefined;
  let load: Awaited<ReturnType<typeof endLoad>>;
  let followed: Awaited<ReturnType<NonNullable<typeof endFollowers>>> | undefined;
  try {
    await change(async () => {
      endFollowers = await callers.followers({ url: endpoint, headers, each: 8 });
    });
  } finally {
    load = await endLoad();
    followed = await endFollowers?.();
  }
  assert.ok(followed, "nobody followed");
  const { written, failures, followers } = followed;
  const sum = (of: (one: (typeof followers)[number]) => number) => followers.reduce((total, one) => total + of(one), 0);
  t.diagnostic(
    `${JSON.stringify(load.statuses)} queries, ${JSON.stringify(load.failures)} failed, ${load.refused.length} connections were ` +
      `refused; ${written} users created; ${followers.length} followers came again ${sum((one) => one.ends.length)} times, ` +
      `caught up on ${sum((one) => one.caughtUp)} users and missed ${sum((one) => one.missed)}`,
  );
  assert.deepEqual([load.failures, load.refused], [{}, []]);
  assert.deepEqual(Object.keys(load.statuses), ["200"]);
  assert.ok(Number(load.statuses["200"]) > 100, `only ${load.statuses["200"]} queries`);
  assert.deepEqual(failures, []);
  assert.equal(followers.length, 16);
  for (const one of followers)
    assert.deepEqual(
      { faults: one.faults, missed: one.missed, twice: one.twice, hearsLast: one.hearsLast },
      { faults: [], missed: 0, twice: 0, hearsLast: true },
      JSON.stringify(one),
    );
  return { cameAgain: followers.map(({ ends }) => ends.length) };
}

/** Addresses of nodes to which connections lead. */
async function answering({ callers }: Scene): Promise<ReadonlySet<string>> {
  const once = () => callers.ask(`${proxy}/slow`, { headers: { connection: "close" } });
  const answers = await Promise.all(Array.from({ length: 20 }, once));
  return new Set(answers.filter(({ status }) => status === 200).map(({ body }) => body));
}

export function rollouts(scene: () => Scene): void {
  const settled = (component: string, count: number) =>
    // Those that were replaced are told to end only when the new ones are Ready.
    waitFor(async () => (await scene().podsOf(component)).length === count, {
      what: `${count} pods of ${component}, and the others to be gone`,
      timeout: 90_000,
      interval: 500,
    });

  test("a rollout of gateway, operator and user API at a time fails no query, and every subscription resumes", {
    timeout: 4 * minutes,
  }, async (t) => {
    const { kubectl } = scene();
    const parts = { gateway: 2, operator: 1, "user-api": 2 } as const;
    const { cameAgain } = await undisturbed(scene(), t, async (follow) => {
      await follow();
      const names = Object.keys(parts).map((part) => `deployment/${release}-${part}`);
      await kubectl("rollout", "restart", ...names);
      for (const name of names) await kubectl("rollout", "status", name, "--timeout=2m");
      for (const [part, count] of Object.entries(parts)) await settled(part, count);
    });
    assert.ok(
      cameAgain.every((times) => times > 0),
      `somebody was never cut off: ${cameAgain}`,
    );
  });

  test("from one node to five and back to two no query fails, and every subscription resumes", {
    timeout: 4 * minutes,
  }, async (t) => {
    const { kubectl, callers } = scene();
    await callers.serve();
    const scale = (count: number) => kubectl("scale", `deployment/${release}-gateway`, `--replicas=${count}`);
    await scale(1);
    await settled("gateway", 1);
    const { cameAgain } = await undisturbed(scene(), t, async (follow) => {
      await scale(5);
      await kubectl("rollout", "status", `deployment/${release}-gateway`, "--timeout=2m");
      // On all five: three of them go.
      await waitFor(async () => (await answering(scene())).size === 5, { what: "the Service to lead to all nodes" });
      await follow();
      await scale(2);
      await settled("gateway", 2);
    });
    assert.ok(
      cameAgain.some((times) => times > 0),
      "nobody was cut off",
    );
  });
}
