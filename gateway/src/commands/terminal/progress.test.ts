import assert from "node:assert/strict";
import { test } from "node:test";
import { progressFor, redrawnText } from "./progress.ts";

test("a text replaces the lines that were drawn before", () => {
  assert.equal(redrawnText("", "a\n"), "\r\u001b[J\u001b[?7la\n\u001b[?7h");
  assert.equal(redrawnText("a\nb\n", "c\n"), "\u001b[2F\u001b[J\u001b[?7lc\n\u001b[?7h");
});

/** A terminal, or another stream, with what was written to it. */
function fakeStream(isTTY = true) {
  const drawn: string[] = [];
  return { drawn, isTTY, write: (text: string) => drawn.push(text) > 0 };
}

const forPeople = { ends: true, output: "text" };

test("progress is redrawn with its seconds, and removed before other output", (context) => {
  context.mock.timers.enable({ apis: ["setInterval", "Date"] });
  const terminal = fakeStream();
  const { drawn } = terminal;
  const progress = progressFor(terminal, forPeople);
  progress.show("planning");
  context.mock.timers.tick(250);
  assert.equal(drawn.at(-1), redrawnText("", "planning (0 s)"));
  progress.show("writing");
  context.mock.timers.tick(1000);
  assert.equal(drawn.at(-1), redrawnText("", "writing (1 s)"));
  progress.clear();
  assert.equal(drawn.at(-1), redrawnText("", ""));
  const count = drawn.length;
  context.mock.timers.tick(1000);
  assert.equal(drawn.length, count);
});

test("a short command draws no progress", (context) => {
  context.mock.timers.enable({ apis: ["setInterval", "Date"] });
  const terminal = fakeStream();
  const progress = progressFor(terminal, forPeople);
  progress.show("planning");
  context.mock.timers.tick(200);
  progress.clear();
  assert.deepEqual(terminal.drawn, []);
});

const silent: readonly (readonly [when: string, isTTY: boolean, conditions: Parameters<typeof progressFor>[1]])[] = [
  ["without a terminal", false, forPeople],
  ["with JSON", true, { ends: true, output: "json" }],
  ["with YAML", true, { ends: true, output: "yaml" }],
  ["in a process that keeps running", true, { ends: false, output: undefined }],
];

for (const [when, isTTY, conditions] of silent) {
  test(`${when}, no progress is drawn`, (context) => {
    context.mock.timers.enable({ apis: ["setInterval", "Date"] });
    const stream = fakeStream(isTTY);
    progressFor(stream, conditions).show("planning");
    context.mock.timers.tick(1000);
    assert.deepEqual(stream.drawn, []);
  });
}
