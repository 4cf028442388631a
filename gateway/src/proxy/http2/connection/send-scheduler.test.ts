import assert from "node:assert/strict";
import { test } from "node:test";
import type { FrameOutput } from "../frames/frame-output.ts";
import { HpackEncoder } from "../hpack/encoder.ts";
import { priorityOf, type QueuedMessage, type SendPriority, SendScheduler, usualPriority } from "./send-scheduler.ts";

const priorities: readonly (readonly [field: string, urgency: number, incremental: boolean])[] = [
  ["", 3, false],
  ["u=0", 0, false],
  ["i", 3, true],
  ["u=5, i", 5, true],
  ["i=?1,u=1", 1, true],
  ["i=?0", 3, false],
  ["u=8", 3, false],
  ["u=1;x=2, y=3", 1, false],
  ["menu=1", 3, false],
];
for (const [field, urgency, incremental] of priorities) {
  test(`the priority "${field}" has the urgency ${urgency} and is ${incremental ? "" : "not "}incremental`, () => {
    assert.deepEqual(priorityOf(field), { urgency, incremental });
  });
}

/** Responses with two queued frames each; the result is the order in which the frames are written. */
function orderOf(responses: Readonly<Record<string, Partial<SendPriority> & { readonly window?: number }>>): string {
  const scheduler = new SendScheduler({ isFull: false } as FrameOutput, new HpackEncoder());
  let written = "";
  for (const [name, { window = 1, ...priority }] of Object.entries(responses)) {
    let left = 2;
    const response: QueuedMessage = {
      priority: { ...usualPriority, ...priority },
      window,
      writeQueued() {
        written += name;
        return --left > 0;
      },
    };
    scheduler.add(response);
  }
  scheduler.pump();
  return written;
}

test("responses alternate if they are incremental or have no priority", () => {
  assert.equal(orderOf({ a: {}, b: {}, c: { incremental: true } }), "abcabc");
});

test("responses that are not incremental are written one after the other", () => {
  assert.equal(orderOf({ a: { incremental: false }, b: { incremental: false }, c: {} }), "aabbcc");
});

test("more urgent responses come first, unless their clients accept no data", () => {
  assert.equal(orderOf({ a: { urgency: 5 }, b: { urgency: 1 }, c: {} }), "bbccaa");
  assert.equal(orderOf({ a: { urgency: 5 }, b: { urgency: 1, window: 0 } }), "aa");
});
