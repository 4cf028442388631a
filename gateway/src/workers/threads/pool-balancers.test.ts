import assert from "node:assert/strict";
import { test } from "node:test";
import { sendRequest } from "../../../../test/conformance/engine/client.ts";
import { waitFor } from "../../../../tools/process/index.ts";
import { UNHEALTHY } from "../../balance/health.ts";
import { sharedTestPool, snapshotOfDocument, startUpstreamUrl } from "./testing-worker-pool.ts";

const shared = sharedTestPool();

const many = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, at) => make(at));

test("workers that eject different targets at the same time keep within max_ejection_percent", async (context) => {
  const pool = shared();
  let tried = 0;
  const fine = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  const broken = await startUpstreamUrl(context, (_request, response) => {
    tried += 1;
    response.writeHead(tried === 1 ? 500 : 200).end();
  });
  const [first = "", second = ""] = [fine, broken].map((url) => new URL(url).host);
  const healthchecks = { passive: { unhealthy: { http_failures: 1 } } };
  await pool.serve(
    snapshotOfDocument({
      services: [{ name: "up", url: "http://pool", routes: [{ name: "r", paths: ["/"] }] }],
      upstreams: [
        { name: "pool", healthchecks, outlier_detection: {}, targets: [{ target: first }, { target: second }] },
      ],
    }),
  );
  const [balancer] = pool.balancers().values();
  const ejected = balancer?.entries.find(({ member }) => member.address === first)?.member;
  assert.ok(balancer && ejected);
  // Another worker has ejected the first target: the control thread knows, and the worker that ejects the second does not.
  const update = { upstreamId: balancer.upstream.id, targetId: ejected.id, address: first, state: UNHEALTHY };
  balancer.adoptHealth(update);
  while (tried === 0) await sendRequest(pool.address.port);
  for (const thread of pool.threads()) thread.adoptHealth({ ...update, signal: null });
  // Messages are handled in order: the control thread has answered the workers' reports before the second report.
  for (let count = 0; count < 2; count++) await pool.report();
  const answers = await Promise.all(many(32, () => sendRequest(pool.address.port)));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
  assert.equal(tried, 33);
});

test("a health result of one worker applies to all workers, and so does a health state that is set manually", async (context) => {
  const pool = shared();
  let tried = 0;
  const broken = await startUpstreamUrl(context, (_request, response) => {
    tried += 1;
    response.writeHead(500).end();
  });
  const fine = await startUpstreamUrl(context, (_request, response) => response.end("ok"));
  const [bad = "", good = ""] = [broken, fine].map((url) => new URL(url).host);
  const healthchecks = { passive: { unhealthy: { http_failures: 4 } } };
  const snapshot = snapshotOfDocument({
    services: [{ name: "up", url: "http://pool", routes: [{ name: "r", paths: ["/"] }] }],
    upstreams: [{ name: "pool", healthchecks, targets: [{ target: bad }, { target: good }] }],
  });
  await pool.serve(snapshot);
  const [balancer] = pool.balancers().values();
  assert.ok(balancer);
  for (let round = 0; tried < 4; round++) {
    assert.ok(round < 200, `only ${tried} of 4`);
    await sendRequest(pool.address.port);
  }
  const stateOf = (address: string) => balancer.entries.find(({ member }) => member.address === address)?.member;
  await waitFor(() => stateOf(bad)?.health.healthy === false, {
    what: "the target to become unhealthy in the control thread",
  });
  assert.equal(tried, 4, "the health signals of all workers are counted together");
  // The control thread sends the health change before it requests the report, so each worker then has the change.
  await pool.report();
  await Promise.all(many(32, () => sendRequest(pool.address.port)));
  assert.equal(tried, 4);
  assert.ok(balancer.setHealth(stateOf(good)?.id ?? "", null, false));
  await pool.report();
  const refused = await Promise.all(many(16, () => sendRequest(pool.address.port)));
  assert.deepEqual(new Set(refused.map(({ status }) => status)), new Set([503]));
  // The successor of a terminated thread starts with the present health states.
  await pool.threads()[0]?.terminate();
  await waitFor(() => pool.threads().length === 2, { what: "the replacement thread" });
  await Promise.all(pool.threads().map(({ started }) => started));
  const still = await Promise.all(many(16, () => sendRequest(pool.address.port)));
  assert.deepEqual(new Set(still.map(({ status }) => status)), new Set([503]));
});
