import assert from "node:assert/strict";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { MessageChannel } from "node:worker_threads";
import { answerInTime, ThreadCalls } from "./thread-calls.ts";

type Theirs = {
  readonly double: (value: number) => number;
  readonly refuse: () => Promise<never>;
  readonly note: (text: string) => void;
  readonly wait: () => Promise<void>;
};

function callsTo(context: TestContext, theirs: Partial<Theirs>): ThreadCalls<Theirs> {
  const { port1, port2 } = new MessageChannel();
  context.after(() => port1.close());
  new ThreadCalls(port2).listen(theirs);
  const calls = new ThreadCalls<Theirs>(port1);
  calls.listen({});
  return calls;
}

test("each call gets its own result, in whatever order the results come", async (context) => {
  const calls = callsTo(context, {
    double: async (value: number) => {
      await new Promise((resolve) => setTimeout(resolve, value));
      return value * 2;
    },
  } as unknown as Theirs);
  assert.deepEqual(await Promise.all([calls.call("double", 20), calls.call("double", 1)]), [40, 2]);
});

test("a call that fails rejects with the message, code and port of the other thread's error", async (context) => {
  const calls = callsTo(context, {
    refuse: () => Promise.reject(Object.assign(new Error("in use"), { code: "EADDRINUSE", port: 80 })),
  });
  await assert.rejects(calls.call("refuse"), { message: "in use", code: "EADDRINUSE", port: 80 });
});

test("one-way messages are received in order, and before later calls", async (context) => {
  const noted: string[] = [];
  const calls = callsTo(context, { note: (text) => void noted.push(text), double: () => noted.length });
  calls.send("note", "one");
  calls.send("note", "two");
  assert.equal(await calls.call("double", 0), 2);
  assert.deepEqual(noted, ["one", "two"]);
});

test("calls that arrive before the other thread listens are answered once it listens", async (context) => {
  const { port1, port2 } = new MessageChannel();
  context.after(() => port1.close());
  const calls = new ThreadCalls<Theirs>(port1);
  calls.listen({});
  const doubled = calls.call("double", 4);
  await new Promise(setImmediate);
  new ThreadCalls(port2).listen({ double: (value: number) => value * 2 });
  assert.equal(await doubled, 8);
});

test("the end of the other thread rejects the pending calls with the reason for the end", async (context) => {
  const calls = callsTo(context, { wait: () => once(new EventTarget(), "never").then(() => undefined) });
  const pending = calls.call("wait");
  calls.end(new Error("the thread ended"));
  await assert.rejects(pending, /the thread ended/);
});

test("inTime waits for an answer until the timeout, and no longer", async (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const late = answerInTime(new Promise(() => undefined), 1000);
  const answered = answerInTime(Promise.resolve("in time"), 1000);
  let isOver = false;
  void late.then(() => {
    isOver = true;
  });
  context.mock.timers.tick(999);
  await new Promise(setImmediate);
  assert.deepEqual([await answered, isOver], ["in time", false]);
  context.mock.timers.tick(1);
  assert.equal(await late, undefined);
});
