import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiServerError } from "./api/api-server-error.ts";
import type { ClusterConnection } from "./api/connection.ts";
import { createLeaseMutex, type LeaseMutexOptions } from "./lease-mutex.ts";
import { leaseStoreOver } from "./lease-store.ts";

interface LeaseBody {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec: object;
}

/** One Lease at an API server, and a clock that advances when a mutex sleeps. */
function machine() {
  let lease: LeaseBody | null = null;
  let now = 0;
  let version = 0;
  const calls: string[] = [];
  const connection: Pick<ClusterConnection, "call"> = {
    async call({ method, body }) {
      calls.push(method);
      if (method === "GET" && !lease)
        throw new ApiServerError(404, { reason: "NotFound", details: { name: "sluice-admin" } });
      if (method === "GET") return lease;
      const { metadata, spec } = body as LeaseBody;
      if (lease?.metadata.resourceVersion !== metadata.resourceVersion) throw new ApiServerError(409, {});
      lease = { metadata: { resourceVersion: `${++version}` }, spec: { ...lease?.spec, ...spec } };
      return lease;
    },
  };
  const clock: LeaseMutexOptions["clock"] = {
    now: () => now,
    random: () => 0.5,
    async sleep(milliseconds) {
      now += milliseconds;
    },
  };
  const store = leaseStoreOver(connection as ClusterConnection, { namespace: "home", name: "sluice-admin" });
  return {
    calls,
    lease: () => Object(lease?.spec),
    turns: () => createLeaseMutex({ store, name: "home/sluice-admin", clock }),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
    now: () => now,
  };
}

test("the first run under a mutex takes two API calls, and a run right after it takes none", async () => {
  const { turns, calls, lease } = machine();
  const mine = turns();
  assert.deepEqual(await mine.run(async ({ othersMayHaveWritten }) => ({ othersMayHaveWritten })), {
    othersMayHaveWritten: true,
  });
  assert.deepEqual(calls, ["GET", "POST"]);
  assert.deepEqual(await mine.run(async ({ othersMayHaveWritten }) => ({ othersMayHaveWritten })), {
    othersMayHaveWritten: false,
  });
  assert.equal(calls.length, 2);
  assert.match(lease().renewTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  await mine.close();
  assert.equal(lease().holderIdentity, "");
});

test("the first run of each mutex reports that other processes may have written", async () => {
  const { turns } = machine();
  const [mine, theirs] = [turns(), turns()];
  await mine.run(async () => undefined);
  await mine.close();
  const again = turns();
  assert.deepEqual(
    await again.run(async ({ othersMayHaveWritten }) => ({ othersMayHaveWritten })),
    { othersMayHaveWritten: true },
    "a new process does not know earlier holders",
  );
  await again.close();
  assert.deepEqual(await theirs.run(async ({ othersMayHaveWritten }) => ({ othersMayHaveWritten })), {
    othersMayHaveWritten: true,
  });
  await theirs.close();
});

test("the mutex waits until a dead holder's Lease expires, and increments its transitions", async () => {
  const { turns, lease, now } = machine();
  const [dead, mine] = [turns(), turns()];
  await dead.run(async () => undefined);
  const began = now();
  assert.deepEqual(await mine.run(async ({ othersMayHaveWritten }) => ({ othersMayHaveWritten })), {
    othersMayHaveWritten: true,
  });
  assert.ok(now() - began >= 5000 && now() - began < 6000, `${now() - began}`);
  assert.equal(lease().leaseTransitions, 2);
  await mine.close();
});

test("isHeld is false once the holder has been suspended for too long to renew the Lease in time", async () => {
  const { turns, pass } = machine();
  const mine = turns();
  await mine.run(async ({ isHeld }) => {
    assert.equal(isHeld?.(), true);
    pass(4000);
    assert.equal(isHeld?.(), false);
  });
  await mine.close();
});

test("the mutex releases the Lease after two seconds, even if more runs are waiting in this process", async () => {
  const { turns, pass, lease } = machine();
  const mine = turns();
  const holders: string[] = [];
  await Promise.all(
    [0, 1, 2].map(() =>
      mine.run(async () => {
        pass(2500);
        holders.push(lease().holderIdentity);
      }),
    ),
  );
  assert.equal(lease().leaseTransitions, 3);
  assert.equal(holders.length, 3);
  await mine.close();
});

test("the mutex continues after a run that failed", async () => {
  const mine = machine().turns();
  await assert.rejects(
    mine.run(async () => {
      throw new Error("no");
    }),
    /no/,
  );
  assert.equal(await mine.run(async () => 1), 1);
  await mine.close();
});
