import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ResourceClient } from "../../resource.ts";
import { createDirectoryClient } from "../client.ts";

const quiet = { info() {}, warn() {}, error() {} };
const hex = "0123456789ab";
const left = [`.a.yaml.${hex}`, `secret/.key.yaml.${hex}`, `deep/er/.b.json.${hex}`];
const leftRecords = [`.status/service/.default_a.json.${hex}`];
const others = [
  ".a.yaml.swp",
  `.notes.${hex}`,
  `.a.yaml.${hex}0`,
  `a.yaml.${hex}`,
  `.git/.a.yaml.${hex}`,
  `.folder.yaml.${hex}/a.txt`,
  "secret/key.yaml",
];
const young = `secret/.young.yaml.${hex}`;

function scene(context: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "sluice-leftovers-"));
  const client = createDirectoryClient({ directory, log: quiet });
  context.after(async () => {
    await client.close();
    rmSync(directory, { recursive: true });
  });
  const old = Date.now() / 1000 - 61;
  for (const path of [...left, ...leftRecords, ...others, young]) {
    mkdirSync(join(directory, dirname(path)), { recursive: true });
    writeFileSync(join(directory, path), "");
    if (path !== young) utimesSync(join(directory, path), old, old);
  }
  symlinkSync(join(directory, "secret/key.yaml"), join(directory, `.link.yaml.${hex}`));
  const there = (paths: readonly string[]) => paths.filter((path) => existsSync(join(directory, path)));
  return { client, there };
}

const service = {
  apiVersion: "sluice.dev/v1alpha1",
  kind: "Service",
  metadata: { name: "users", namespace: "default" },
  spec: { host: "users.example" },
};
const manager = "sluice-admin";
const apply = (client: ResourceClient) => client.apply("Service", service, { manager });

test("a writer removes the temporary files of killed writers, and no other file", async (context) => {
  const { client, there } = scene(context);
  await apply(client);
  assert.deepEqual(there(left), []);
  assert.deepEqual(there([...others, young, `.link.yaml.${hex}`]), [...others, young, `.link.yaml.${hex}`]);
  const condition = { type: "Accepted", status: "True", reason: "Accepted", message: "" } as const;
  await client.setConditions({ kind: "Service", namespace: "default", name: "users" }, [condition], { manager });
  assert.deepEqual(there(leftRecords), []);
});

test("a process that acquires a mutex removes the temporary files of killed writers, too", async (context) => {
  const { client, there } = scene(context);
  await client.withMutex({ namespace: "default", name: "admin" }, async () => {
    assert.deepEqual(there(left), []);
  });
});

test("a process that only reads removes no file", async (context) => {
  const { client, there } = scene(context);
  await client.list("Service");
  assert.deepEqual(there([...left, ...leftRecords]), [...left, ...leftRecords]);
});
