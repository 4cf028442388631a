import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import type { Condition, Ref, Resource } from "@sluice/crds";
import { createStatusWriter, WATCH_ECHO_TIMEOUT } from "./status-writer.ts";

const ref = (name: string): Ref => ({ kind: "Route", namespace: "default", name });
const saying = (reason: string): readonly Condition[] => [{ type: "Programmed", status: "True", reason, message: "" }];
const resource = (name: string, conditions: readonly Condition[] = []): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Route",
  metadata: { name, namespace: "default" },
  status: { conditions },
});

interface Write {
  readonly name: string;
  readonly reason: string | undefined;
  /** Whether the writer passes a copy of the resource to the client, so that the client need not read the resource. */
  readonly isRead: boolean;
  end(error?: Error): Promise<void>;
}

/** A writer whose writes end when the test ends them, on a stopped clock. */
function scene(t: TestContext, parallel = 8) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const writes: Write[] = [];
  const counted = { retries: 0, again: [] as string[], outcomes: [] as string[], warnings: 0 };
  let time = 0;
  const writer = createStatusWriter({
    client: {
      setConditions: ({ name }, conditions, { read, signal }) =>
        new Promise((resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason));
          const end = async (error?: Error) => {
            if (error) reject(error);
            else resolve();
            await turn();
          };
          writes.push({ name, reason: conditions[0]?.reason, isRead: read !== undefined, end });
        }),
    },
    manager: "test",
    log: { warn: () => counted.warnings++ } as never,
    onRetry(keys) {
      counted.retries++;
      counted.again.push(...keys);
    },
    onWrite: (outcome) => counted.outcomes.push(outcome),
    parallel,
    now: () => time,
  });
  return {
    writer,
    writes,
    counted,
    pass(milliseconds: number) {
      time += milliseconds;
      t.mock.timers.tick(milliseconds);
    },
    want: (name: string, reason: string, read: readonly Condition[] = []) =>
      writer.ensure(ref(name), resource(name, read), saying(reason)),
    reasons: () => writes.map((write) => `${write.name} ${write.reason}`),
  };
}

test("only conditions that differ are written", async (t) => {
  const { want, reasons } = scene(t);
  assert.equal(want("a", "Said", saying("Said")), true);
  assert.equal(want("b", "New", saying("Old")), false);
  assert.deepEqual(reasons(), ["b New"]);
});

test("a write is not repeated before the watch reports it, and the resource is settled after that report", async (t) => {
  const { want, writes, reasons } = scene(t);
  want("a", "New");
  assert.equal(want("a", "New"), false, "while the write is under way");
  await writes[0]?.end();
  assert.equal(want("a", "New"), false, "from a copy that was read before the write");
  assert.equal(want("a", "New", saying("New")), true, "when the copy has the conditions");
  assert.deepEqual(reasons(), ["a New"]);
});

test("a write that the watch does not report in time is repeated", async (t) => {
  const { want, writes, reasons, pass } = scene(t);
  want("a", "New");
  await writes[0]?.end();
  pass(WATCH_ECHO_TIMEOUT);
  want("a", "New");
  assert.deepEqual(reasons(), ["a New", "a New"]);
});

test("of several sets of conditions that wait for a write of the same resource, only the newest is written", async (t) => {
  const { want, writes, reasons } = scene(t);
  for (const reason of ["One", "Two", "Three"]) want("a", reason);
  assert.deepEqual(reasons(), ["a One"]);
  await writes[0]?.end();
  assert.deepEqual(reasons(), ["a One", "a Three"]);
});

test("former conditions that are requested during a write of new ones are written again, although the last read copy has them", async (t) => {
  const { want, writes, reasons } = scene(t);
  want("a", "New", saying("Old"));
  assert.equal(want("a", "Old", saying("Old")), false);
  await writes[0]?.end();
  assert.deepEqual(reasons(), ["a New", "a Old"]);
  await writes[1]?.end();
  want("a", "New", saying("New"));
  want("a", "Old", saying("New"));
  assert.equal(reasons().length, 3, "the conditions of the last write are compared, not those of the read copy");
});

test("a resource is read again before a write only if it was written a moment ago", async (t) => {
  const { want, writes } = scene(t);
  want("a", "One");
  await writes[0]?.end();
  want("a", "Two");
  await writes[1]?.end();
  want("a", "Two", saying("Two"));
  want("a", "Three", saying("Two"));
  assert.deepEqual(
    writes.map(({ isRead }) => isRead),
    [true, false, true],
  );
});

test("the number of concurrent writes is limited", async (t) => {
  const { want, writes, reasons } = scene(t, 2);
  for (const name of ["a", "b", "c"]) want(name, "New");
  assert.deepEqual(reasons(), ["a New", "b New"]);
  await writes[0]?.end();
  assert.deepEqual(reasons(), ["a New", "b New", "c New"]);
});

test("retries of failed writes are requested together, and two lines are logged", async (t) => {
  const { want, writes, counted, pass } = scene(t);
  for (const name of ["a", "b", "c"]) want(name, "New");
  for (const write of writes.slice(0, 3)) await write.end(new Error("the API server is away"));
  assert.deepEqual([counted.retries, counted.warnings, counted.outcomes], [0, 1, ["failed", "failed", "failed"]]);
  pass(1000);
  assert.deepEqual([counted.retries, counted.warnings], [1, 2]);
  want("a", "New");
  assert.equal(writes.length, 4);
});

test("the retry delay of a resource doubles with each failed write, and is reset by a successful write", async (t) => {
  const { want, writes, reasons, counted, pass } = scene(t);
  want("bad", "New");
  await writes[0]?.end(new Error("refused"));
  want("bad", "New");
  assert.deepEqual(reasons(), ["bad New"], "the resource is not written before its delay has passed");
  pass(1000);
  want("bad", "New");
  await writes[1]?.end(new Error("refused"));
  pass(1000);
  want("bad", "New");
  want("good", "New");
  assert.deepEqual(reasons(), ["bad New", "bad New", "good New"], "a retry delays no other resource");
  assert.equal(counted.retries, 1);
  pass(1000);
  assert.equal(counted.retries, 2);
  want("bad", "New");
  await writes[3]?.end();
  want("bad", "Newer");
  await writes[4]?.end(new Error("refused"));
  pass(1000);
  assert.equal(counted.retries, 3, "the successful write has reset the delay");
});

test("retries that become due one after another are requested in batches", async (t) => {
  const { want, writes, counted, pass } = scene(t, 100);
  const names = Array.from({ length: 50 }, (_, at) => `r${at}`);
  for (const name of names) want(name, "New");
  for (const write of writes) {
    pass(1);
    await write.end(new Error("refused"));
  }
  pass(951);
  assert.deepEqual(counted.again, ["Route/default/r0"]);
  pass(100);
  assert.deepEqual(
    counted.again,
    names.map((name) => `Route/default/${name}`),
  );
  pass(10_000);
  assert.equal(counted.retries, 2);
});

test("queued writes are dropped when another operator leads", async (t) => {
  const { want, writer, writes, reasons } = scene(t, 1);
  for (const name of ["a", "b"]) want(name, "New");
  writer.cancelQueued();
  await writes[0]?.end();
  assert.deepEqual(reasons(), ["a New"]);
});

test("closing does not wait long for an API server that does not answer", async (t) => {
  const { want, writer, counted, pass } = scene(t);
  want("a", "New");
  const closing = writer.close();
  pass(500);
  await closing;
  assert.deepEqual([counted.outcomes, counted.warnings], [["failed"], 0]);
});

test("closing waits for writes in progress and starts no queued write", async (t) => {
  const { want, writer, writes, counted, pass } = scene(t, 1);
  want("a", "New");
  want("b", "New");
  let closed = false;
  const closing = writer.close().then(() => {
    closed = true;
  });
  await turn();
  assert.equal(closed, false);
  await writes[0]?.end(new Error("too late"));
  await closing;
  want("c", "New");
  pass(5000);
  assert.deepEqual([writes.length, counted.retries, counted.warnings], [1, 0, 0]);
});
