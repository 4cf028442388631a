import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { defineSettings, loadSettings } from "./index.ts";

const declarations = defineSettings({
  proxy: { variable: "SLUICE_PROXY_LISTEN", kind: "address", default: "127.0.0.1:8000", description: "x" },
  port: { variable: "SLUICE_PG_PORT", kind: "integer", default: 5432, maximum: 65_535, description: "x" },
  password: { variable: "SLUICE_PG_PASSWORD", kind: "text", secret: true, default: null, description: "x" },
  trusted: { variable: "SLUICE_TRUSTED_IPS", kind: "addresses", default: [], description: "x" },
  share: { variable: "SLUICE_TRACING_SAMPLING", kind: "share", default: 1, description: "x" },
  endpoint: { variable: "OTEL_ENDPOINT", kind: "text", default: null, description: "x" },
});

/** Resolves to the values, or to the violations as lines, with the file's folder left out. */
async function load(context: TestContext, text: string) {
  const folder = temporaryFolder("settings");
  context.after(() => folder.remove());
  const file = join(folder.path, "s.yml");
  writeFileSync(file, text);
  const { values, violations } = await loadSettings(declarations, { env: { SLUICE_SETTINGS: file }, flags: {} });
  if (violations.length === 0) return values;
  return violations.map(({ path, message }) => `${path[0]}: ${message}`.replaceAll(`${folder.path}/`, ""));
}

test("a settings file may contain every kind of setting, secrets, and settings of other Sluice programs", async (context) => {
  const text =
    "proxy_listen: 0.0.0.0:80\npg_port: 99\npg_password: a b\ntrusted_ips: [10.0.0.0/8, '::1']\n" +
    "tracing_sampling: 0.10\notel_endpoint: null\nwebhook_name: x\n";
  assert.deepEqual(await load(context, text), {
    proxy: { host: "0.0.0.0", port: 80 },
    port: 99,
    password: "a b",
    trusted: ["10.0.0.0/8", "::1"],
    share: 0.1,
    endpoint: null,
  });
});

const faulty: readonly (readonly [text: string, ...faults: readonly string[]])[] = [
  [
    "pg_port: 99999\nprxy_listen: x\npg_password: {a: b}\n",
    "s.yml:2:1: prxy_listen: there is no such setting, did you mean proxy_listen?",
    "s.yml:3:1: pg_password: expected a value or a list of values",
    "s.yml:1:1: pg_port: expected an integer of at most 65535, not '99999'",
  ],
  ["pg_port: [1]\n", "s.yml:1:1: pg_port: expected an integer of at most 65535, not a list"],
  ["trusted_ips: ['a,b']\n", "s.yml:1:1: trusted_ips: expected a value or a list of values"],
  ["settings: other.yml\n", "s.yml:1:1: settings: there is no such setting"],
  ["pg_port: &a 1\nproxy_listen: *a\n", "s.yml:2:1: proxy_listen: expected a value or a list of values"],
  ["pg_port: 1\npg_port: 2\n", "s.yml:2:1: Map keys must be unique"],
  ["- a\n", "s.yml:1:1: expected settings as members, such as proxy_listen: 127.0.0.1:8000"],
  ["a: [\n", "s.yml:2:1: Flow sequence in block collection must be sufficiently indented and end with a ]"],
];

for (const [text, ...faults] of faulty) {
  test(`the settings file ${JSON.stringify(text)} is refused with line and column`, async (context) => {
    assert.deepEqual(await load(context, text), faults);
  });
}

test("a settings file that cannot be read is refused, with the flag or variable that names it", async () => {
  const { violations } = await loadSettings(declarations, { env: {}, flags: { "--settings": "/none/s.yml" } });
  assert.deepEqual(
    violations.map(({ path, message }) => [path[0], message.replace(/ENOENT.*/, "ENOENT")]),
    [["--settings", "the settings file /none/s.yml cannot be read: ENOENT"]],
  );
});
