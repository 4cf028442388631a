import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeconfigError } from "@sluice/crds";
import { PemError, readSettings, SettingsError } from "@sluice/model";
import { type OperatorSettings, operatorSettings } from "./settings.ts";
import { leaseTiming, ownObjectName, startErrorMessage } from "./start-checks.ts";

function settingsOf(env: Readonly<Record<string, string>>): OperatorSettings {
  const { value, violations } = readSettings(operatorSettings, env);
  assert.ok(value, JSON.stringify(violations));
  return value;
}
test("the message for a port in use names the port and the setting, and only the message for a bug has a stack", () => {
  const settings = settingsOf({ SLUICE_OPERATOR_LISTEN: "127.0.0.1:8088" });
  const inUse = Object.assign(new Error("listen"), { code: "EADDRINUSE" });
  assert.equal(
    startErrorMessage(inUse, settings),
    "port 8088 is in use: choose another address with SLUICE_OPERATOR_LISTEN",
  );
  assert.match(startErrorMessage(new Error("bug"), settings), /Error: bug\n\s+at /);
  for (const known of [SettingsError, KubeconfigError, PemError])
    assert.equal(startErrorMessage(new known("this and that"), settings), "this and that");
});

const timings: readonly (readonly [what: string, env: Readonly<Record<string, string>>, line: RegExp])[] = [
  [
    "a renew deadline that equals the duration of the Lease",
    { SLUICE_LEASE_RENEW_DEADLINE: "15s" },
    /^SLUICE_LEASE_RENEW_DEADLINE must be shorter than SLUICE_LEASE_DURATION$/,
  ],
  [
    "a retry interval that equals the renew deadline",
    { SLUICE_LEASE_RETRY: "10s" },
    /^SLUICE_LEASE_RETRY must be shorter than SLUICE_LEASE_RENEW_DEADLINE/,
  ],
  [
    "a Lease duration with a fraction of a second",
    { SLUICE_LEASE_DURATION: "1500ms" },
    /^SLUICE_LEASE_DURATION must be a whole number of seconds$/,
  ],
];
for (const [what, env, line] of timings)
  test(`${what} is refused`, () => {
    assert.throws(() => leaseTiming(settingsOf(env)), { name: "SettingsError", message: line });
  });

test("the Lease has default times, and operators of different classes have different Leases", () => {
  assert.deepEqual(leaseTiming(settingsOf({})), { duration: 15_000, renewDeadline: 10_000, retry: 2000 });
  assert.equal(ownObjectName(settingsOf({})), "sluice-operator");
  assert.equal(ownObjectName(settingsOf({ SLUICE_CLASS: "internal" })), "sluice-operator-internal");
});
