import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { writePushCertificates } from "../../../tools/cluster/push-certificates.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { type OperatorSettings, operatorSettings } from "../settings.ts";
import { startErrorMessage } from "../start-checks.ts";
import type { NodeTls } from "./node-client.ts";
import { loadPushCredentials } from "./push-credentials.ts";

function settingsOf(env: Readonly<Record<string, string | undefined>>): OperatorSettings {
  const { value, violations } = readSettings(operatorSettings, env);
  assert.ok(value, JSON.stringify(violations));
  return value;
}

function folderOf(t: TestContext) {
  const folder = temporaryFolder("proof");
  t.after(() => folder.remove());
  return folder.path;
}

test("a token authenticates the operator, unless certificates are set", async (t) => {
  assert.deepEqual(await loadPushCredentials(settingsOf({ SLUICE_PUSH_TOKEN: "x" })), { credentials: { token: "x" } });
  const { operator } = await writePushCertificates(folderOf(t));
  const { tls, token } = (await loadPushCredentials(settingsOf({ SLUICE_PUSH_TOKEN: "x", ...operator }))).credentials;
  assert.deepEqual([tls?.serverName, token], ["sluice-gateway", undefined]);
  const { credentials } = await loadPushCredentials(settingsOf({ SLUICE_PUSH_TOKEN: "x", SLUICE_PUSH_SECRET: "push" }));
  assert.deepEqual(credentials, { tls: null });
});

test("certificate files that change are read again, and used if they are valid", async (t) => {
  const folder = folderOf(t);
  const { operator } = await writePushCertificates(folder);
  const { rotate: keep, credentials } = await loadPushCredentials(settingsOf(operator));
  const renewed: NodeTls[] = [];
  const abort = new AbortController();
  const lines: string[] = [];
  const kept = keep?.({
    client: { get: () => assert.fail("called the API server"), apply: () => assert.fail("called the API server") },
    authorityNamespace: "default",
    manager: "test",
    leads: () => true,
    renew: (tls) => renewed.push(tls),
    recordEvent: () => assert.fail("an Event was recorded"),
    log: pino({}, { write: (line: string) => void lines.push(line) }),
    signal: abort.signal,
  });
  writeFileSync(join(folder, "sluice-operator.crt"), "half");
  await waitFor(() => lines.length > 0, { what: "the error to be reported" });
  assert.match(lines[0] ?? "", /sluice-operator\.crt holds no PEM certificate.*keeping the previous certificate/);
  await writePushCertificates(folder);
  await waitFor(() => renewed.length > 0, { what: "the new certificates" });
  abort.abort();
  await kept;
  assert.equal(renewed[0]?.serverName, "sluice-gateway");
  assert.notEqual(renewed[0]?.cert, credentials.tls?.cert);
});

const missing = `${import.meta.dirname}/nobody.pem`;
const files = { SLUICE_PUSH_TLS_CERT: missing, SLUICE_PUSH_TLS_KEY: missing, SLUICE_PUSH_TLS_CA: missing };
const faults: readonly (readonly [string, Readonly<Record<string, string>>, RegExp])[] = [
  ["missing credentials", {}, /set SLUICE_PUSH_TOKEN, SLUICE_PUSH_SECRET, or SLUICE_PUSH_TLS_CERT/],
  ["a certificate without the other files", { SLUICE_PUSH_TLS_CERT: missing }, /belong together: set all three/],
  ["a missing certificate", files, /ENOENT: .*nobody\.pem/],
  [
    "both files and a Secret",
    { ...files, SLUICE_PUSH_SECRET: "push" },
    /^SLUICE_PUSH_SECRET and SLUICE_PUSH_TLS_CERT are two sources of one certificate: set one of them$/,
  ],
  [
    "a Secret where there is no cluster",
    { SLUICE_PUSH_SECRET: "push", SLUICE_DIRECTORY: "." },
    /^SLUICE_PUSH_SECRET needs a cluster, but SLUICE_DIRECTORY is set$/,
  ],
];
for (const [what, env, line] of faults)
  test(`the error for ${what} is reported in one line`, async () => {
    const settings = settingsOf(env);
    const error = await loadPushCredentials(settings).then(
      () => assert.fail("the settings were accepted"),
      (reason: Error) => reason,
    );
    const message = startErrorMessage(error, settings);
    assert.match(message, line);
    assert.doesNotMatch(message, /\n/);
  });
