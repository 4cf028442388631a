import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { KubeconfigError } from "./api/credentials.ts";
import { createClusterClient } from "./client.ts";

const log = { info() {}, warn() {}, error() {} };

async function withKubeconfig(server: string, run: (path: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-kubeconfig-"));
  const path = join(folder, "config");
  writeFileSync(
    path,
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server, "insecure-skip-tls-verify": true } }],
      users: [{ name: "u", user: { token: "t" } }],
      contexts: [{ name: "here", context: { cluster: "c", user: "u" } }],
      "current-context": "here",
    }),
  );
  try {
    await run(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("a watch waits for an API server that does not answer yet", async () => {
  const server = createServer((request, response) => {
    if (request.url?.includes("watch=true")) response.flushHeaders();
    else response.end('{"metadata":{"resourceVersion":"5"},"items":[{"metadata":{"name":"a"}}]}');
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await withKubeconfig(`http://127.0.0.1:${port}`, async (kubeconfig) => {
    const client = createClusterClient({ kubeconfig, log });
    try {
      const lost = Promise.withResolvers<Error>();
      const replaced = Promise.withResolvers<readonly unknown[]>();
      const observer = { replaced: replaced.resolve, changed() {}, removed() {}, lost: lost.resolve };
      client.watch("Secret", observer, { signal: new AbortController().signal });
      assert.match((await lost.promise).message, /ECONNREFUSED/);
      await once(server.listen(port, "127.0.0.1"), "listening");
      assert.deepEqual(await replaced.promise, [{ apiVersion: "v1", kind: "Secret", metadata: { name: "a" } }]);
    } finally {
      await client.close();
      server.closeAllConnections();
      server.close();
    }
  });
});

test("the error for a missing context names the available contexts, and a missing kubeconfig is an error", () =>
  withKubeconfig("https://127.0.0.1:1", async (kubeconfig) => {
    assert.throws(() => createClusterClient({ kubeconfig, context: "there", log }), /no context there; it has here/);
    assert.throws(() => createClusterClient({ kubeconfig: `${kubeconfig}.absent`, log }), /ENOENT/);
  }));

for (const [what, text] of [
  ["with invalid YAML", "{["],
  ["with a string in place of a map", "hello"],
  ["without a cluster", "apiVersion: v1"],
] as const)
  test(`a kubeconfig ${what} is reported in one line`, () =>
    withKubeconfig("https://127.0.0.1:1", async (kubeconfig) => {
      writeFileSync(kubeconfig, text);
      assert.throws(
        () => createClusterClient({ kubeconfig, log }),
        (error) => error instanceof KubeconfigError && /^the kubeconfig .*KUBECONFIG[^\n]*$/.test(error.message),
      );
    }));
