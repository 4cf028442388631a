import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeconfigError } from "@sluice/crds";
import { readSettings } from "@sluice/model";
import { type OperatorSettings, operatorSettings } from "./settings.ts";
import { leaseTiming, ownName, pushCredentials, SettingsError, startFault } from "./start.ts";

function settingsOf(env: Readonly<Record<string, string>>): OperatorSettings {
  const { value, violations } = readSettings(operatorSettings, env);
  assert.ok(value, JSON.stringify(violations));
  return value;
}
const missing = `${import.meta.dirname}/nobody.pem`;

test("a token is the proof, unless certificates are", async () => {
  assert.deepEqual(await pushCredentials(settingsOf({ SLUICE_PUSH_TOKEN: "x" })), { token: "x" });
  const file = import.meta.filename;
  const env = {
    SLUICE_PUSH_TOKEN: "x",
    SLUICE_PUSH_TLS_CERT: file,
    SLUICE_PUSH_TLS_KEY: file,
    SLUICE_PUSH_TLS_CA: file,
  };
  const { tls, token } = await pushCredentials(settingsOf(env));
  assert.deepEqual([tls?.serverName, token], ["sluice-gateway", undefined]);
});

const faults: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ["neither token nor certificates", {}, /set SLUICE_PUSH_TOKEN, or SLUICE_PUSH_TLS_CERT/],
  ["a certificate without its companions", { SLUICE_PUSH_TLS_CERT: missing }, /belong together: set all three/],
  [
    "a certificate that is not there",
    { SLUICE_PUSH_TLS_CERT: missing, SLUICE_PUSH_TLS_KEY: missing, SLUICE_PUSH_TLS_CA: missing },
    /ENOENT: .*nobody\.pem/,
  ],
];
for (const [what, env, line] of faults)
  test(`${what} is told in one line`, async () => {
    const settings = settingsOf(env);
    const error = await pushCredentials(settings).then(
      () => assert.fail("it was taken"),
      (reason: Error) => reason,
    );
    const { lines } = startFault(error, settings);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? "", line);
    assert.doesNotMatch(lines[0] ?? "", /\n/);
  });

test("a port in use names the port and the setting, and a bug keeps its stack", () => {
  const settings = settingsOf({ SLUICE_OPERATOR_LISTEN: "127.0.0.1:8088" });
  const inUse = Object.assign(new Error("listen"), { code: "EADDRINUSE" });
  assert.deepEqual(startFault(inUse, settings).lines, [
    "port 8088 is in use: choose another address with SLUICE_OPERATOR_LISTEN",
  ]);
  assert.match(startFault(new Error("bug"), settings).lines[0] ?? "", /Error: bug\n\s+at /);
  for (const known of [SettingsError, KubeconfigError])
    assert.deepEqual(startFault(new known("this and that"), settings).lines, ["this and that"]);
});

const timings: readonly (readonly [what: string, env: Readonly<Record<string, string>>, line: RegExp])[] = [
  [
    "a deadline as long as the Lease lasts",
    { SLUICE_LEASE_RENEW_DEADLINE: "15s" },
    /^SLUICE_LEASE_RENEW_DEADLINE must be shorter than SLUICE_LEASE_DURATION$/,
  ],
  [
    "renewals as rare as their deadline",
    { SLUICE_LEASE_RETRY: "10s" },
    /^SLUICE_LEASE_RETRY must be shorter than SLUICE_LEASE_RENEW_DEADLINE/,
  ],
  [
    "a Lease of parts of a second",
    { SLUICE_LEASE_DURATION: "1500ms" },
    /^SLUICE_LEASE_DURATION must be whole seconds$/,
  ],
];
for (const [what, env, line] of timings)
  test(`${what} is refused, because two could lead`, () => {
    assert.throws(() => leaseTiming(settingsOf(env)), { name: "SettingsError", message: line });
  });

test("Sluices of other classes have Leases of their own", () => {
  assert.deepEqual(leaseTiming(settingsOf({})), { duration: 15_000, renewDeadline: 10_000, retry: 2000 });
  assert.equal(ownName(settingsOf({})), "sluice-operator");
  assert.equal(ownName(settingsOf({ SLUICE_CLASS: "internal" })), "sluice-operator-internal");
});
