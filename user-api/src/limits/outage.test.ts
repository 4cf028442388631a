import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { makeOutageLog } from "./outage.ts";

const AWAY = "Redis does not count requests; each replica counts its own";
const BACK = "Redis counts requests again";

describe("the log of a Redis outage", () => {
  beforeEach(() => mock.timers.enable({ apis: ["Date", "setTimeout"], now: 1_000_000 }));
  afterEach(() => mock.timers.reset());

  function rig() {
    const lines: unknown[] = [];
    const log = {
      warn: (_what: unknown, message?: unknown) => void lines.push(message),
      info: (message: unknown) => void lines.push(message),
    };
    return { lines, outage: makeOutageLog(log) };
  }

  it("reports an outage and its end at once", () => {
    const { lines, outage } = rig();
    outage.failed(new Error("closed"));
    outage.failed(new Error("closed"));
    outage.recovered();
    outage.recovered();
    assert.deepEqual(lines, [AWAY, BACK]);
  });

  it("is at most two lines in half a minute, however often Redis fails and recovers, and in the end reports the current state", () => {
    const { lines, outage } = rig();
    for (let n = 0; n < 100; n++) {
      outage.failed(new Error("OOM"));
      outage.recovered();
    }
    assert.deepEqual(lines, [AWAY, BACK]);
    outage.failed(new Error("OOM"));
    assert.equal(lines.length, 2);
    mock.timers.tick(30_000);
    assert.deepEqual(lines, [AWAY, BACK, AWAY]);
    outage.recovered();
    assert.deepEqual(lines, [AWAY, BACK, AWAY, BACK]);
    mock.timers.tick(60_000);
    assert.equal(lines.length, 4);
  });

  it("gets no more lines once the outage reporter is closed", () => {
    const { lines, outage } = rig();
    outage.failed(new Error("OOM"));
    outage.recovered();
    outage.failed(new Error("OOM"));
    outage.close();
    outage.failed(new Error("closed"));
    mock.timers.tick(60_000);
    assert.deepEqual(lines, [AWAY, BACK]);
  });
});
