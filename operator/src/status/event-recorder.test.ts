import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { type Ref, ResourceRejected } from "@sluice/crds";
import { createEventRecorder } from "./event-recorder.ts";

const ref: Ref = { kind: "Route", namespace: "default", name: "users" };

function scene(limit?: number) {
  const ends: ((error?: Error) => Promise<void>)[] = [];
  const events: string[] = [];
  const lines: string[] = [];
  const pauses: number[] = [];
  const teller = createEventRecorder({
    client: {
      recordEvent: (_, { type, reason, message, reporter }) =>
        new Promise((resolve, reject) => {
          events.push(`${type} ${reason} ${message} ${reporter}`);
          ends.push(async (error) => {
            if (error) reject(error);
            else resolve();
            await turn();
          });
        }),
    },
    reporter: "test",
    log: {
      warn: (_: object, line: string) => lines.push(line),
      info: (_: object, line: string) => lines.push(`info ${line}`),
    } as never,
    parallel: 2,
    delay: async (milliseconds) => void pauses.push(milliseconds),
    ...(limit === undefined ? {} : { limit }),
  });
  return {
    teller,
    ends,
    events,
    lines,
    pauses,
    tell: (message: string) => teller.record(ref, { reason: "Invalid", message }),
  };
}

test("problems are logged at once, and are written as Events two at a time", async () => {
  const { tell, lines, events, ends } = scene();
  for (const message of ["a", "b", "c"]) tell(message);
  assert.deepEqual(
    [lines, events],
    [
      ["a", "b", "c"],
      ["Warning Invalid a test", "Warning Invalid b test"],
    ],
  );
  await ends[0]?.();
  assert.equal(events.length, 3);
});

test("news are logged as information, and become Events of the type Normal", async () => {
  const { teller, events, lines } = scene();
  teller.record(ref, { type: "Normal", reason: "Issued", message: "news" });
  assert.deepEqual([events, lines], [["Normal Issued news test"], ["info news"]]);
});

test("an Event that the API server rejects is not written again, the rejection is logged, and the next Event is written", async () => {
  const { tell, lines, events, ends, pauses } = scene();
  for (const message of ["a", "b", "c"]) tell(message);
  await ends[0]?.(new ResourceRejected("forbidden"));
  assert.deepEqual([events.length, lines.at(-1), pauses], [3, "an event could not be recorded", []]);
});

test("an Event is written again after a failure of the API server, at most twice", async () => {
  const { tell, lines, events, ends, pauses } = scene();
  tell("a");
  await ends[0]?.(new Error("the API server answered 500"));
  await ends[1]?.();
  assert.deepEqual([events.length, lines], [2, ["a"]]);
  tell("b");
  for (const at of [2, 3, 4]) await ends[at]?.(new Error("the API server answered 500"));
  assert.deepEqual([events.length, lines.at(-1)], [5, "an event could not be recorded"]);
  assert.deepEqual(pauses, [1000, 1000, 5000]);
});

test("an Event that is being written during the close is not written again after a failure", async () => {
  const { teller, tell, lines, events, ends } = scene();
  tell("a");
  teller.close();
  await ends[0]?.(new Error("the API server answered 500"));
  assert.deepEqual([events.length, lines], [1, ["a"]]);
});

test("problems beyond the limit of queued Events are only logged, and no queued Event is written after the close", async () => {
  const { teller, tell, lines, events, ends } = scene(1);
  for (const message of ["a", "b", "c", "d"]) tell(message);
  teller.close();
  await ends[0]?.();
  assert.deepEqual([lines.length, events.length], [4, 2]);
});
