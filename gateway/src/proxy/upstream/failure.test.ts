import assert from "node:assert/strict";
import { test } from "node:test";
import { type FailedTry, failureSignalOf, gatewayErrorFor, mayRetry, withCertificate } from "./failure.ts";

const errorWith = (code: string) => Object.assign(new Error(code), { code });
const refused = errorWith("ECONNREFUSED");
const broken = errorWith("UND_ERR_SOCKET");

const failed: FailedTry = {
  error: refused,
  connected: false,
  method: "GET",
  bodyBegun: false,
  hasOtherTarget: false,
};
const timeout = { error: errorWith("SLUICE_READ_TIMEOUT"), connected: true };

const tries: readonly (readonly [when: string, Partial<FailedTry>, boolean])[] = [
  ["there was no connection", {}, true],
  ["there was no connection and the request is not idempotent", { method: "POST" }, true],
  ["the connection was not established in time", { error: errorWith("ETIMEDOUT") }, true],
  ["the name did not resolve", { error: errorWith("ENOTFOUND") }, false],
  ["the address is refused as an upstream", { error: errorWith("SLUICE_FORBIDDEN_ADDRESS") }, false],
  [
    "the name did not resolve and another target is left",
    { error: errorWith("ENOTFOUND"), hasOtherTarget: true },
    true,
  ],
  ["a byte of the body may have been sent", { bodyBegun: true }, false],
  ["the connection broke during an idempotent request", { error: broken, connected: true }, true],
  ["the connection broke during a POST request", { error: broken, connected: true, method: "POST" }, false],
  ["the response did not begin in time", timeout, false],
  ["the response did not begin in time and the service repeats timeouts", { ...timeout, repeatsTimeouts: true }, true],
  [
    "a POST request timed out and the service repeats timeouts",
    { ...timeout, repeatsTimeouts: true, method: "POST" },
    false,
  ],
  ["the response was malformed", { error: errorWith("HPE_INVALID_CONSTANT"), connected: true }, false],
];
for (const [when, members, expected] of tries) {
  test(`an attempt is ${expected ? "" : "not "}retried when ${when}`, () => {
    assert.equal(mayRetry({ ...failed, ...members }), expected);
  });
}

test("an unknown error counts as an invalid response, and EAI_AGAIN as a failed name resolution", () => {
  assert.equal(gatewayErrorFor(new Error("strange")), "badUpstream");
  assert.equal(gatewayErrorFor(errorWith("EAI_AGAIN")), "nameResolution");
});

const signs: readonly (readonly [code: string, on: "none" | "fresh" | "kept", ReturnType<typeof failureSignalOf>])[] = [
  ["ECONNREFUSED", "none", "tcp_failures"],
  ["ENOTFOUND", "none", "tcp_failures"],
  ["ETIMEDOUT", "none", "timeouts"],
  ["SLUICE_READ_TIMEOUT", "kept", "timeouts"],
  ["ECONNRESET", "fresh", "tcp_failures"],
  ["UND_ERR_SOCKET", "kept", null],
  ["HPE_INVALID_CONSTANT", "kept", "tcp_failures"],
  ["UND_ERR_REQ_CONTENT_LENGTH_MISMATCH", "fresh", null],
];
for (const [code, on, expected] of signs) {
  test(`${code} ${on === "none" ? "without a connection" : `on a ${on === "kept" ? "reused" : on} connection`} reports ${expected ?? "nothing"} about the target's health`, () => {
    assert.equal(
      failureSignalOf({ error: errorWith(code), connected: on !== "none", fresh: on === "fresh" }),
      expected,
    );
  });
}

const shown = { subject: { CN: "up\n" }, valid_from: "Jan  1 00:00:00 2026 GMT", valid_to: "Jan  2 00:00:00 2026 GMT" };
for (const [code, certificate, now, message] of [
  ["CERT_HAS_EXPIRED", shown, "2026-01-03", "CERT_HAS_EXPIRED: the server's certificate, subject up , is valid from"],
  ["CERT_HAS_EXPIRED", shown, "2026-01-01T12:00:00Z", "CERT_HAS_EXPIRED: a CA certificate of the upstream's chain has"],
  ["CERT_NOT_YET_VALID", shown, "2025-12-31", "CERT_NOT_YET_VALID: the server's certificate, subject up , is valid"],
  ["CERT_HAS_EXPIRED", {}, "2026-01-03", "CERT_HAS_EXPIRED"],
  ["CERT_HAS_EXPIRED", null, "2026-01-03", "CERT_HAS_EXPIRED"],
  ["ECONNREFUSED", shown, "2026-01-03", "ECONNREFUSED"],
] as const)
  test(`${code} at ${now} with ${JSON.stringify(certificate)} begins with ${message}`, () => {
    const error = withCertificate(errorWith(code), certificate as never, Date.parse(now));
    assert.equal(error.message.slice(0, message.length), message);
    assert.ok(message !== code || error.message === code);
  });
