import assert from "node:assert/strict";
import { test } from "node:test";
import { pauseAfter, renewalInfoId } from "./renewal.ts";

test("the id of a certificate is that of the example in RFC 9773 appendix A", () => {
  const chain = `-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----`;
  assert.equal(renewalInfoId(chain), "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
  const asOpensslReads = `subject=CN = example.com\n\n${chain.replaceAll("\n", " \n")}`;
  assert.equal(renewalInfoId(asOpensslReads), "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE", "with text and spaces");
});

const pauses: readonly (readonly [failures: number, retryAfter: number | null, minutes: number])[] = [
  [1, null, 2],
  [2, null, 4],
  [5, null, 32],
  [9, null, 360],
  [1000, null, 360],
  [1, 600_000, 10],
];
for (const [failures, retryAfter, minutes] of pauses) {
  test(`after ${failures} failures and Retry-After ${retryAfter}, the pause is ${minutes} minutes`, () => {
    assert.equal(
      pauseAfter(failures, retryAfter, () => 0),
      minutes * 60_000,
    );
  });
}
