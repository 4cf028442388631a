import assert from "node:assert/strict";
import { test } from "node:test";
import { progressLine, redraw } from "./progress.ts";

test("a text replaces the lines that were drawn before", () => {
  assert.equal(redraw("", "a\n"), "\r\u001b[J\u001b[?7la\n\u001b[?7h");
  assert.equal(redraw("a\nb\n", "c\n"), "\u001b[2F\u001b[J\u001b[?7lc\n\u001b[?7h");
});

test("progress is redrawn with its seconds, and removed before other output", (context) => {
  context.mock.timers.enable({ apis: ["setInterval", "Date"] });
  const drawn: string[] = [];
  const progress = progressLine({ write: (text: string) => drawn.push(text) > 0 });
  progress.show("planning");
  context.mock.timers.tick(250);
  assert.equal(drawn.at(-1), redraw("", "planning (0 s)"));
  progress.show("writing");
  context.mock.timers.tick(1000);
  assert.equal(drawn.at(-1), redraw("", "writing (1 s)"));
  progress.clear();
  assert.equal(drawn.at(-1), redraw("", ""));
  const count = drawn.length;
  context.mock.timers.tick(1000);
  assert.equal(drawn.length, count);
});

test("a short command draws no progress", (context) => {
  context.mock.timers.enable({ apis: ["setInterval", "Date"] });
  const drawn: string[] = [];
  const progress = progressLine({ write: (text: string) => drawn.push(text) > 0 });
  progress.show("planning");
  context.mock.timers.tick(200);
  progress.clear();
  assert.deepEqual(drawn, []);
});
