import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { after, describe, it } from "node:test";
import { changeLevelOnSignal, makeLog } from "./log.ts";

/** The logged form of an error. Also checks that no log line contains the password. */
function logged(err: unknown): Readonly<Record<string, unknown>> {
  const lines: string[] = [];
  const log = makeLog(
    { level: "info" },
    new Writable({
      write(line, _encoding, done) {
        lines.push(String(line));
        done();
      },
    }),
  );
  log.warn({ err }, "a line");
  if (err instanceof Error) log.warn(err, "the same");
  for (const line of lines) assert.doesNotMatch(line, /hunter2/);
  return JSON.parse(lines[0] ?? "").err;
}

const withMembers = (message: string, members: object, options?: ErrorOptions): Error =>
  Object.assign(new Error(message, options), members);
/** The member `command` of ioredis' reply errors. */
const command = { name: "hello", args: ["3", "AUTH", "default", "hunter2"] };

it("SIGUSR2 sets the level to debug for ten minutes; a second one restores the level of the settings", ({ mock }) => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const log = makeLog({ level: "error" }, new Writable({ write: (_line, _encoding, done) => done() }));
  const before = process.listeners("SIGUSR2");
  changeLevelOnSignal(log);
  // Only this listener is called: the signal itself would reach those of the test runner.
  const [listener] = process.listeners("SIGUSR2").filter((one) => !before.includes(one));
  assert.ok(listener);
  after(() => process.removeListener("SIGUSR2", listener));
  const signalled = () => {
    listener("SIGUSR2");
    return log.level;
  };
  const levelAfter = (seconds: number) => {
    mock.timers.tick(seconds * 1000);
    return log.level;
  };
  assert.deepEqual([signalled(), signalled()], ["debug", "error"]);
  assert.deepEqual([signalled(), levelAfter(599), levelAfter(1)], ["debug", "debug", "error"]);
  assert.equal(signalled(), "debug", "after the ten minutes, a signal is a first signal again");
});

describe("an error in the log", () => {
  it("has its type, message and stack, and members such as code", () => {
    const members = { code: "ECONNREFUSED", errno: -111, syscall: "connect", address: "127.0.0.1", port: 1 };
    const { stack, ...rest } = logged(withMembers("connect ECONNREFUSED", members));
    assert.deepEqual(rest, { type: "Error", message: "connect ECONNREFUSED", ...members });
    assert.match(String(stack), /^Error: connect ECONNREFUSED\n +at /);
  });

  it("has no other properties that a library attaches, such as a command with its password or a connection", () => {
    for (const members of [{ command }, { client: { password: "hunter2" } }, { input: "redis://:hunter2@host" }]) {
      assert.deepEqual(Object.keys(logged(withMembers("WRONGPASS", members))), ["type", "message", "stack"]);
    }
  });

  it("has the messages of its causes, and its inner errors in the same form, without properties that a library attaches", () => {
    const inner = withMembers("inside", { command, code: "A" });
    const cause = withMembers("the reason", { command }, { cause: inner });
    const { message, aggregateErrors } = logged(
      Object.assign(new AggregateError([inner], "all failed", { cause }), { command }),
    );
    assert.equal(message, "all failed: the reason: inside");
    const [first] = aggregateErrors as readonly Record<string, unknown>[];
    assert.deepEqual({ ...first, stack: "" }, { type: "Error", message: "inside", stack: "", code: "A" });
  });

  it("does not repeat the arguments of a command that Redis does not have", () => {
    // The response of Redis before version 6 to HELLO, and of any version to a renamed AUTH.
    const words = "ERR unknown command `HELLO`, with args beginning with: ";
    const { message } = logged(new Error(`${words}\`3\`, \`AUTH\`, \`default\`, \`hunter2\`, `));
    assert.equal(message, `${words}[redacted]`);
  });

  it("is reported by its text when it is not an error object", () => {
    assert.deepEqual(logged("just words"), { message: "just words" });
    assert.deepEqual(logged({ command }), { message: "[object Object]" });
  });
});
