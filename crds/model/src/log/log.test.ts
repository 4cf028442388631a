import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { readLogLevelChange, TemporaryLogLevel } from "./temporary-log-level.ts";
import { isTextLog } from "./text-log.ts";

test("a log is text if the format is text, or if it is auto and the descriptor is a terminal", () => {
  // Descriptor 99 is not open.
  const choices = (["text", "json", "auto"] as const).map((format) => isTextLog(format, 99));
  assert.deepEqual(choices, [true, false, false]);
});

function rig(context: TestContext) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const lines: string[] = [];
  const log = { level: "warn", info: (facts: object) => void lines.push(JSON.stringify(facts)) };
  const level = new TemporaryLogLevel(log);
  const followed: string[] = [];
  level.onLevelChange((now) => followed.push(now));
  return { log, level, lines, followed };
}

test("a changed log level ends after the given time, is logged and reported, and can be replaced or ended early", (context) => {
  const { log, level, lines, followed } = rig(context);
  level.change({ level: "debug", seconds: 10 });
  assert.deepEqual([log.level, level.isChanged], ["debug", true]);
  context.mock.timers.tick(9_999);
  level.change({ level: "info", seconds: 10 });
  context.mock.timers.tick(9_999);
  assert.equal(log.level, "info");
  context.mock.timers.tick(1);
  assert.deepEqual([log.level, level.isChanged], ["warn", false]);
  level.change({ level: "debug", seconds: 10 });
  level.change({ level: "error", seconds: 0 });
  assert.deepEqual([log.level, level.isChanged], ["warn", false]);
  assert.deepEqual(followed, ["debug", "info", "warn", "debug", "warn"]);
  assert.deepEqual(lines[0], '{"now":"debug","seconds":10}');
});

test("a signal sets the log level to debug for ten minutes, and a second signal ends this", (context) => {
  const { log, level } = rig(context);
  level.toggleDebug();
  context.mock.timers.tick(599_999);
  assert.equal(log.level, "debug");
  context.mock.timers.tick(1);
  assert.equal(log.level, "warn");
  level.toggleDebug();
  level.toggleDebug();
  assert.deepEqual([log.level, level.isChanged], ["warn", false]);
});

const changes: readonly (readonly [unknown, boolean])[] = [
  [{ level: "debug", seconds: 0 }, true],
  [{ level: "error", seconds: 86_400 }, true],
  [{ level: "error", seconds: 86_401 }, false],
  [{ level: "error", seconds: -1 }, false],
  [{ level: "error", seconds: 1.5 }, false],
  [{ level: "error", seconds: "1" }, false],
  [{ level: "silent", seconds: 1 }, false],
  [{ level: "debug" }, false],
  [null, false],
  ["debug", false],
];
for (const [given, isValid] of changes)
  test(`a change of the log level to ${JSON.stringify(given)} is ${isValid ? "accepted" : "refused"}`, () =>
    assert.deepEqual(readLogLevelChange(given), isValid ? given : null));
