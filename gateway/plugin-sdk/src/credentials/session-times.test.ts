import assert from "node:assert/strict";
import { test } from "node:test";
import { newSession, type SessionTimeouts, type SessionTimes, useSession } from "./session-times.ts";

const timeouts: SessionTimeouts = { idling: 900, rolling: 3600, absolute: 86_400 };
const fresh = newSession(1000);

const cases: readonly (readonly [
  what: string,
  now: number,
  after: SessionTimes | null,
  before?: SessionTimes,
  limits?: SessionTimeouts,
])[] = [
  ["stays as it is within a minute", 1059, fresh],
  ["records its use after a minute", 1060, { ...fresh, used: 1060 }],
  ["ends after the idle time", 1900, null],
  ["does not end before the idle time", 1899, { ...fresh, used: 1899 }],
  [
    "is renewed in the last quarter of the rolling timeout",
    3700,
    { created: 1000, renewed: 3700, used: 3700 },
    { ...fresh, used: 3600 },
  ],
  ["ends after the rolling timeout, although it is used", 4600, null, { ...fresh, used: 4590 }],
  [
    "ends after the absolute timeout, although it is renewed",
    87_400,
    null,
    { created: 1000, renewed: 87_000, used: 87_390 },
  ],
  ["never ends without limits", 1e9, fresh, fresh, { idling: 0, rolling: 0, absolute: 0 }],
  [
    "records its use in the middle of a short idle time",
    1005,
    { ...fresh, used: 1005 },
    fresh,
    { ...timeouts, idling: 10 },
  ],
];
for (const [what, now, after, before = fresh, limits = timeouts] of cases) {
  test(`a session ${what}`, () => assert.deepEqual(useSession(before, limits, now), after));
}

test("useSession returns the same object if the use needs no new cookie", () => {
  assert.equal(useSession(fresh, timeouts, 1001), fresh);
});
