import assert from "node:assert/strict";
import { test } from "node:test";
import {
  HEALTHY,
  type HealthSignal,
  type HealthState,
  hasHealthChecks,
  healthRulesOf,
  nextHealthState,
} from "./health.ts";
import { upstreamNamed } from "./testing.ts";

const limits = { successes: 2, tcp_failures: 2, timeouts: 3, http_failures: 2 };
const off = { successes: 0, tcp_failures: 0, timeouts: 0, http_failures: 0 };
const letters: Readonly<Record<string, HealthSignal>> = {
  s: "successes",
  c: "tcp_failures",
  t: "timeouts",
  h: "http_failures",
};
/** The state after a sequence of health signals, one letter each. */
const after = (signs: string, rules = limits, state: HealthState = HEALTHY): HealthState =>
  [...signs].reduce((before, letter) => nextHealthState(before, letters[letter] ?? "successes", rules), state);

const runs: readonly (readonly [signs: string, fit: boolean, what: string])[] = [
  ["", true, "is healthy at first"],
  ["c", true, "stays healthy after one failure fewer than the limit"],
  ["cc", false, "becomes unhealthy at the limit"],
  ["ttt", false, "has a separate limit for timeouts"],
  ["hh", false, "has a separate limit for statuses"],
  ["chtt", true, "does not add up failures of different kinds"],
  ["csc", true, "counts only consecutive failures"],
  ["ccs", false, "stays unhealthy after one success of two"],
  ["ccss", true, "is healthy again after enough successes"],
  ["ccscs", false, "counts only consecutive successes"],
  ["ccssc", true, "starts a new count when it is healthy again"],
];
for (const [signs, fit, what] of runs) {
  test(`a target ${what} (${signs || "no signals"})`, () => assert.equal(after(signs).healthy, fit));
}

test("results with a limit of 0 do not change a target's health, but a success still ends a series of failures", () => {
  assert.equal(after("ctthhccc", off).healthy, true);
  const onlyFailures = { ...limits, successes: 0 };
  assert.equal(after("csc", onlyFailures).healthy, true);
  assert.equal(after("ccsssssss", onlyFailures).healthy, false);
});

test("whatever the earlier results were, enough equal results in a row determine a target's health", () => {
  let seed = 7;
  const random = () => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return seed;
  };
  for (let run = 0; run < 200; run++) {
    const signs = Array.from({ length: 30 }, () => "scth"[random() % 4]).join("");
    assert.equal(after(`${signs}ss`).healthy, true, signs);
    assert.equal(after(`${signs}cc`).healthy, false, signs);
    assert.deepEqual(after(`${signs}ss`), HEALTHY);
  }
});

const statuses: readonly (readonly [status: number, sign: HealthSignal | null])[] = [
  [200, "successes"],
  [302, "successes"],
  [404, null],
  [500, "http_failures"],
];
test("a status is a success, a failure or ignored; for type tcp every status is a success", () => {
  const { passive } = upstreamNamed("u").healthchecks;
  for (const [status, sign] of statuses) {
    assert.equal(healthRulesOf(passive).signalFor(status), sign, String(status));
    assert.equal(healthRulesOf({ ...passive, type: "tcp" }).signalFor(status), "successes", String(status));
  }
});

const watches: readonly (readonly [healthchecks: object, boolean])[] = [
  [{}, false],
  [{ passive: { unhealthy: { tcp_failures: 1 } } }, true],
  [{ passive: { healthy: { successes: 1 } } }, false],
  [{ active: { unhealthy: { interval: 1 } } }, true],
  [{ active: { healthy: { interval: 0.1 } } }, true],
  [{ active: { unhealthy: { http_failures: 3 } } }, false],
];
for (const [healthchecks, watched] of watches) {
  test(`health is ${watched ? "" : "not "}checked with ${JSON.stringify(healthchecks)}`, () => {
    assert.equal(hasHealthChecks(upstreamNamed("u", { healthchecks }).healthchecks), watched);
  });
}
