import assert from "node:assert/strict";
import { test } from "node:test";
import type { AcmeStatus } from "@sluice/model";
import { issuedFinding } from "./issued-condition.ts";

const NOW = Date.parse("2026-11-30T12:00:00Z");
const [LATER, PAST] = ["2027-01-30T12:00:00.000Z", "2026-11-01T12:00:00.000Z"];

const base: AcmeStatus = {
  state: "valid",
  domains: ["a.test", "b.test"],
  directory: "https://ca.test/dir",
  not_after: null,
  renew_at: null,
  next_attempt: null,
  failures: 0,
  error: null,
};
const error = { type: "rejectedIdentifier", detail: "the CA refuses a.test" };

const rows: readonly (readonly [what: string, status: Partial<AcmeStatus>, finding: string])[] = [
  [
    "a valid certificate",
    { not_after: LATER, renew_at: "2027-01-01T00:00:00.000Z" },
    `True Issued The certificate is valid until ${LATER}. It is renewed at 2027-01-01T00:00:00.000Z.`,
  ],
  [
    "a valid certificate without a time of renewal",
    { not_after: LATER },
    `True Issued The certificate is valid until ${LATER}.`,
  ],
  [
    "the first order",
    { state: "ordering" },
    "False Ordering A certificate for a.test, b.test is being ordered from https://ca.test/dir.",
  ],
  [
    "a renewal",
    { state: "ordering", not_after: LATER },
    `True Renewing The certificate is valid until ${LATER}. A certificate for a.test, b.test is being ordered from https://ca.test/dir.`,
  ],
  [
    "the renewal of an expired certificate",
    { state: "ordering", not_after: PAST },
    "False Ordering A certificate for a.test, b.test is being ordered from https://ca.test/dir.",
  ],
  [
    "a refused order",
    { state: "waiting", failures: 1, error, next_attempt: LATER },
    `False OrderFailed the CA refuses a.test (rejectedIdentifier). The next attempt is at ${LATER}.`,
  ],
  [
    "a failed renewal",
    { state: "waiting", failures: 3, error: { type: null, detail: "no response from ca.test." }, not_after: LATER },
    `True RenewalFailed The certificate is valid until ${LATER}. no response from ca.test after 3 attempts.`,
  ],
  [
    "a configuration that cannot be ordered",
    { state: "refused", error: { type: null, detail: "the directory is not allowed" } },
    "False Refused the directory is not allowed.",
  ],
];

for (const [what, status, expected] of rows)
  test(`the condition Issued describes ${what}`, () => {
    const { status: is, reason, message } = issuedFinding({ ...base, ...status }, NOW);
    assert.equal(`${is} ${reason} ${message}`, expected);
  });
