import assert from "node:assert/strict";
import { test } from "node:test";
import { type Resource, UnknownKind } from "../../resource.ts";
import { ApiServerError } from "../api/api-server-error.ts";
import { LIST_PATIENCE } from "./reflector.ts";
import { createFake, type FakeApiServer } from "./testing-lister-watcher.ts";

const gone = () => new ApiServerError(410, { code: 410, reason: "Expired", message: "too old resource version" });
const resource = (name: string, resourceVersion: string): Resource => ({
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Service",
  metadata: { name, namespace: "default", resourceVersion },
});
const minutes = (count: number) => count * 60_000;

/** Runs a reflector on a fake API server during the function; then ends it, and asserts that it leaves nothing open. */
async function reflecting(run: (fake: FakeApiServer) => Promise<void>): Promise<void> {
  const fake = createFake();
  try {
    await run(fake);
  } finally {
    await fake.end();
  }
  assert.equal(fake.openWatches(), 0, "no watch is left open");
  assert.equal(fake.sleepers(), 0, "no timer is left");
}

test("the reflector lists, then watches from the list's version with timeouts of 300 to 600 s", () =>
  reflecting(async (fake) => {
    await fake.settle();
    assert.deepEqual(fake.calls, ["list", "watch 10"]);
    assert.deepEqual(fake.reported, ["replaced a"]);
    assert.ok(fake.timeouts.every((seconds) => seconds >= 300 && seconds <= 600));
  }));

test("the reflector resumes from a bookmark's version without notifying the observer", () =>
  reflecting(async (fake) => {
    await fake.settle();
    await fake.send({ type: "BOOKMARK", object: resource("", "77") });
    await fake.endWatch();
    assert.deepEqual(fake.calls, ["list", "watch 10", "watch 77"]);
    assert.deepEqual(fake.reported, ["replaced a"]);
  }));

test("the reflector resumes from the last event and delivers each event once", () =>
  reflecting(async (fake) => {
    await fake.settle();
    await fake.send({ type: "ADDED", object: resource("b", "11") });
    await fake.send({ type: "MODIFIED", object: resource("b", "12") });
    await fake.send({ type: "DELETED", object: resource("b", "13") });
    await fake.endWatch();
    assert.deepEqual(fake.calls, ["list", "watch 10", "watch 13"]);
    assert.deepEqual(fake.reported, ["replaced a", "changed b", "changed b", "removed b"]);
  }));

test("the reflector lists again at once when the response to a watch or the watch's stream reports that the version is too old", () =>
  reflecting(async (fake) => {
    await fake.settle();
    await fake.send({ type: "BOOKMARK", object: resource("", "20") });
    await fake.send({ type: "ERROR", object: { code: 410, message: "too old" } });
    assert.deepEqual(fake.calls, ["list", "watch 10", "list", "watch 10"]);
    await fake.send({ type: "BOOKMARK", object: resource("", "30") });
    fake.failWatches(gone(), 1);
    await fake.endWatch();
    assert.deepEqual(fake.calls.slice(4), ["watch 30", "list", "watch 10"]);
    assert.deepEqual(fake.reported, ["replaced a", "replaced a", "replaced a"]);
    assert.deepEqual(fake.waits, []);
  }));

test("the reflector waits between lists when every version is too old", () =>
  reflecting(async (fake) => {
    fake.failWatches(gone(), 3);
    await fake.settle();
    assert.deepEqual(fake.calls, ["list", "watch 10"]);
    await fake.advance(minutes(1));
    assert.deepEqual(fake.calls.filter((call) => call === "list").length, 4);
    assert.equal(fake.waits.length, 3);
  }));

test("the reflector waits longer after each failure, up to 30 s, and a success resets the delay", () =>
  reflecting(async (fake) => {
    fake.failLists(new Error("refused"), 8);
    await fake.settle();
    for (let failure = 0; failure < 8; failure++) await fake.advance(30_000);
    assert.deepEqual(fake.waits, [1200, 2400, 4800, 9600, 19200, 30000, 30000, 30000]);
    await fake.send({ type: "BOOKMARK", object: resource("", "20") });
    fake.failWatches(new Error("reset"), 1);
    await fake.endWatch();
    assert.equal(fake.waits.at(-1), 1200);
  }));

test("the reflector waits for the time in Retry-After, at most a minute", () =>
  reflecting(async (fake) => {
    for (const asked of [7000, 3_600_000])
      fake.failLists(new ApiServerError(429, { message: "too many requests" }, asked), 1);
    await fake.settle();
    assert.deepEqual(fake.waits, [7000]);
    await fake.advance(7000);
    assert.deepEqual(fake.waits, [7000, 60_000]);
  }));

test("the reflector reports an unreachable server once at the start, and the list when the server answers", () =>
  reflecting(async (fake) => {
    fake.failLists(new Error("connect ECONNREFUSED"), 3);
    await fake.settle();
    await fake.advance(minutes(2));
    assert.deepEqual(fake.reported, ["lost connect ECONNREFUSED", "replaced a"]);
  }));

test("the reflector does not report an interruption of some seconds as a loss", () =>
  reflecting(async (fake) => {
    await fake.settle();
    fake.failWatches(new Error("reset"), 2);
    await fake.endWatch(new Error("reset"));
    await fake.advance(10_000);
    assert.deepEqual(fake.reported, ["replaced a"]);
    assert.equal(fake.openWatches(), 1);
    assert.deepEqual(fake.calls.at(-1), "watch 10");
  }));

test("an unreachable server is reported from the first failed attempt until the next success", () =>
  reflecting(async (fake) => {
    await fake.settle();
    fake.failWatches(new Error("connect ECONNREFUSED"), 2);
    await fake.endWatch(new Error("reset"));
    assert.deepEqual(fake.reportedFailures, []);
    await fake.advance(1300);
    assert.deepEqual(fake.reportedFailures, ["connect ECONNREFUSED"]);
    await fake.advance(10_000);
    assert.deepEqual(fake.reportedFailures, ["connect ECONNREFUSED", null]);
    assert.deepEqual(fake.reported, ["replaced a"]);
  }));

test("a list that fails is reported until a list succeeds", () =>
  reflecting(async (fake) => {
    fake.failLists(new Error("connect ECONNREFUSED"), 3);
    await fake.settle();
    assert.deepEqual(fake.reportedFailures, ["connect ECONNREFUSED"]);
    await fake.advance(minutes(2));
    assert.deepEqual(fake.reportedFailures, ["connect ECONNREFUSED", null]);
  }));

test("a watch that does not open is reported", () =>
  reflecting(async (fake) => {
    fake.hangWatches();
    await fake.settle();
    await fake.advance(minutes(2));
    assert.deepEqual(fake.reportedFailures, ["the API server did not open the watch in 75 s"]);
  }));

test("a watch that ends, fails, delivers nothing or requires another list is not reported as a failure", () =>
  reflecting(async (fake) => {
    await fake.settle();
    await fake.endWatch();
    await fake.advance(2000);
    await fake.endWatch(new Error("reset"));
    await fake.advance(minutes(3));
    await fake.send({ type: "BOOKMARK", object: resource("", "20") });
    await fake.send({ type: "ERROR", object: { code: 410, message: "too old" } });
    await fake.send({ type: "BOOKMARK", object: resource("", "30") });
    fake.failWatches(gone(), 1);
    await fake.endWatch();
    await fake.advance(2000);
    assert.equal(fake.openWatches(), 1);
    assert.deepEqual(fake.reportedFailures, []);
  }));

test("the reflector reports the loss when the server stays unreachable, and lists when it is back", () =>
  reflecting(async (fake) => {
    await fake.settle();
    fake.failWatches(new Error("reset"), 4);
    await fake.endWatch(new Error("reset"));
    fake.failLists(new Error("reset"), 1);
    await fake.advance(minutes(2));
    assert.deepEqual(fake.reported, ["replaced a", "lost reset", "replaced a"]);
  }));

test("the reflector reports a kind as lost at once if the API server does not serve it, and recovers", () =>
  reflecting(async (fake) => {
    await fake.settle();
    await fake.send({ type: "BOOKMARK", object: resource("", "20") });
    fake.failWatches(new UnknownKind("no such kind"), 1);
    fake.failLists(new UnknownKind("no such kind"), 2);
    await fake.endWatch();
    assert.deepEqual(fake.reported, ["replaced a", "lost no such kind"]);
    await fake.advance(minutes(1));
    assert.deepEqual(fake.reported, ["replaced a", "lost no such kind", "replaced a"]);
  }));

test("the reflector opens exactly one further watch when a watch delivers nothing in time", () =>
  reflecting(async (fake) => {
    await fake.settle();
    await fake.advance(minutes(1));
    await fake.send({ type: "BOOKMARK", object: resource("", "20") });
    await fake.advance(minutes(1));
    assert.deepEqual(fake.calls, ["list", "watch 10"]);
    await fake.advance(minutes(0.5));
    assert.deepEqual(fake.calls, ["list", "watch 10", "watch 20"]);
    assert.equal(fake.openWatches(), 1);
  }));

test("the reflector reopens a watch at its last position on request, whether it is open or being opened", () =>
  reflecting(async (fake) => {
    await fake.settle();
    await fake.send({ type: "BOOKMARK", object: resource("", "20") });
    await fake.cut();
    assert.deepEqual(fake.calls, ["list", "watch 10", "watch 20"]);
    fake.hangWatches();
    await fake.cut();
    await fake.cut();
    assert.deepEqual(fake.calls.slice(3), ["watch 20", "watch 20"]);
    assert.equal(fake.openWatches(), 1);
    assert.deepEqual([fake.waits, fake.reportedFailures, fake.reported], [[], [], ["replaced a"]]);
  }));

test("when a retry is requested during a long delay, the reflector retries at once, and again after a short delay", () =>
  reflecting(async (fake) => {
    fake.failLists(new Error("refused"), 20);
    await fake.settle();
    for (let failure = 0; failure < 6; failure++) await fake.advance(30_000);
    const [calls, waits] = [fake.calls.length, fake.waits.length];
    assert.equal(fake.waits.at(-1), 30_000);
    await fake.cut();
    assert.equal(fake.calls.length, calls + 1);
    assert.deepEqual(fake.waits.slice(waits), [1200]);
  }));

test("on request, the reflector aborts a list that hangs, retries at once, and again after a short delay", () =>
  reflecting(async (fake) => {
    fake.failLists(new Error("refused"), 20);
    await fake.settle();
    for (let failure = 0; failure < 6; failure++) await fake.advance(29_000);
    fake.hangLists(1);
    await fake.advance(30_000);
    const [calls, waits, failures] = [fake.calls.length, fake.waits.length, fake.reportedFailures.length];
    await fake.cut();
    assert.equal(fake.calls.length, calls + 1);
    assert.deepEqual(fake.waits.slice(waits), [1200]);
    assert.equal(fake.reportedFailures.length, failures, "an aborted list is not reported as an error");
  }));

test("when another attempt is requested, a list that has just started is aborted only after a grace period", () =>
  reflecting(async (fake) => {
    fake.hangLists(1);
    await fake.settle();
    await fake.advance(1000);
    await fake.cut();
    await fake.advance(LIST_PATIENCE - 1001);
    assert.deepEqual(fake.calls, ["list"]);
    await fake.advance(1);
    assert.deepEqual(fake.calls, ["list", "list", "watch 10"]);
  }));

for (const [what, pageTakes, lists] of [
  ["quickly is never aborted", LIST_PATIENCE - 1000, 1],
  ["slowly is aborted later each time", 4 * LIST_PATIENCE - 1000, 3],
] as const)
  test(`a list whose pages arrive ${what}, and completes although retries are requested every second`, () =>
    reflecting(async (fake) => {
      fake.pages = 3;
      fake.pageTakes = pageTakes;
      await fake.settle();
      for (let second = 0; second < 400 && fake.reported.length === 0; second++) {
        await fake.advance(1000);
        await fake.cut();
      }
      assert.deepEqual(fake.reported, ["replaced a,a2,a3"]);
      assert.equal(fake.calls.filter((call) => call === "list").length, lists);
    }));

test("after a completed list, the next list that hangs is aborted as early as the first one", () =>
  reflecting(async (fake) => {
    fake.hangLists(2);
    await fake.settle();
    for (const patience of [LIST_PATIENCE, 2 * LIST_PATIENCE]) {
      await fake.advance(patience);
      await fake.cut();
    }
    assert.deepEqual(fake.calls, ["list", "list", "list", "watch 10"]);
    fake.hangLists(1);
    await fake.send({ type: "ERROR", object: { code: 410, message: "too old" } });
    await fake.advance(LIST_PATIENCE + 1200);
    assert.equal(fake.calls.length, 5);
    await fake.cut();
    assert.deepEqual(fake.calls.slice(4), ["list", "list", "watch 10"]);
  }));

test("before the time in Retry-After is over, the reflector sends nothing even if a retry is requested, and then it retries at once", () =>
  reflecting(async (fake) => {
    fake.failLists(new Error("refused"), 5);
    fake.failLists(new ApiServerError(429, { message: "too many requests" }, 7000), 1);
    await fake.settle();
    for (const wait of [1200, 2400, 4800, 9600, 19_200]) await fake.advance(wait);
    const calls = fake.calls.length;
    assert.equal(fake.waits.at(-1), 7000);
    await fake.cut();
    await fake.advance(6999);
    await fake.cut();
    assert.equal(fake.calls.length, calls);
    await fake.advance(1);
    assert.equal(fake.calls.length, calls + 2, "the list and its watch");
  }));

test("a retry that is requested during a list does not shorten the time in the list's Retry-After", () =>
  reflecting(async (fake) => {
    fake.pageTakes = 500;
    fake.failLists(new ApiServerError(429, { message: "too many requests" }, 7000), 1);
    await fake.settle();
    await fake.cut();
    await fake.advance(7499);
    assert.deepEqual(fake.calls, ["list"]);
    await fake.advance(1);
    assert.deepEqual(fake.calls, ["list", "list"]);
  }));

test("the reflector aborts a watch that does not open, and opens another one", () =>
  reflecting(async (fake) => {
    fake.hangWatches();
    await fake.settle();
    assert.equal(fake.openWatches(), 1);
    await fake.advance(minutes(2));
    assert.deepEqual(fake.calls, ["list", "watch 10", "watch 10"]);
    assert.equal(fake.openWatches(), 1);
  }));

test("the reflector delays further watches when the server ends every watch at once", () =>
  reflecting(async (fake) => {
    await fake.settle();
    for (let end = 0; end < 10; end++) {
      if (fake.openWatches() > 0) await fake.endWatch();
      await fake.advance(100);
    }
    assert.ok(fake.calls.length <= 3, fake.calls.join());
  }));

test("the reflector repeats the full list from time to time, because streams may miss events", () =>
  reflecting(async (fake) => {
    await fake.settle();
    for (let count = 0; count < 31; count++) {
      await fake.advance(minutes(1));
      await fake.send({ type: "BOOKMARK", object: resource("", `${20 + count}`) });
    }
    await fake.endWatch();
    assert.deepEqual(fake.calls, ["list", "watch 10", "list", "watch 10"]);
  }));

test("the reflector continues when the observer throws, and logs the error", () =>
  reflecting(async (fake) => {
    fake.observerThrows = true;
    await fake.settle();
    await fake.send({ type: "ADDED", object: resource("b", "11") });
    await fake.endWatch();
    assert.equal(fake.calls.at(-1), "watch 11");
    assert.equal(fake.errors.length, 2);
  }));

test("the reflector leaves no timer or request when it is aborted while it opens a watch, waits or lists", async () => {
  for (const prepare of [
    (fake: FakeApiServer) => fake.hangWatches(),
    (fake: FakeApiServer) => fake.failLists(new Error("refused"), 9),
    (fake: FakeApiServer) => fake.hangLists(),
  ]) {
    await reflecting(async (fake) => {
      prepare(fake);
      await fake.settle();
      const calls = fake.calls.length;
      await fake.end();
      await fake.advance(minutes(5));
      assert.equal(fake.calls.length, calls);
    });
  }
});

test("the reflector reads a list in pages, and without pages if they expire during the list", () =>
  reflecting(async (fake) => {
    fake.pages = 3;
    await fake.settle();
    assert.deepEqual(fake.calls, ["list", "list page2", "list page3", "watch 10"]);
    assert.deepEqual(fake.reported, ["replaced a,a2,a3"]);
    fake.pagesExpire = true;
    await fake.send({ type: "ERROR", object: { code: 410 } });
    await fake.advance(10_000);
    assert.deepEqual(fake.calls.slice(4, 7), ["list", "list page2", "list"]);
    assert.equal(fake.reported.at(-1), "replaced a,a2,a3");
  }));
