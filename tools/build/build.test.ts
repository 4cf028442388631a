import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { before, test } from "node:test";
import { freePort, startProcess, temporaryFolder } from "../process/index.ts";
import { type BuiltWorkspace, buildPrograms, builtFiles, builtWorkspaces } from "./programs.ts";

const root = join(import.meta.dirname, "../..");

before(buildPrograms);

/** With this option Node cannot load TypeScript. */
const env = { NODE_OPTIONS: "--no-strip-types" };

const commands: readonly [command: string, words: readonly string[], says: RegExp][] = [
  ["gateway/build/main.js", ["version"], /^\d+\.\d+\.\d+\n$/],
  ["gateway/build/main.js", ["config", "help"], /config/],
  ["operator/build/main.js", [], /SLUICE_PUSH_TOKEN/],
  ["user-api/build/main.js", ["help"], /sluice-user-api \[COMMAND\]/],
];

/** How many modules of a workspace start a thread or a process of their own. */
const threads: Partial<Record<BuiltWorkspace, number>> = { gateway: 3, "gateway/plugins": 1, "user-api": 1 };

for (const [command, words, says] of commands) {
  test(`${[command, ...words].join(" ")} runs where Node cannot load TypeScript`, async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    execFile(join(root, command), words, { env: { ...process.env, ...env } }, (_error, out, err) => resolve(out + err));
    assert.match(await promise, says);
  });
}

for (const workspace of builtWorkspaces) {
  test(`${workspace}: the threads and processes that its built modules start are beside them`, () => {
    const files = builtFiles(workspace);
    const started = files.flatMap((file) => {
      const text = readFileSync(join(root, workspace, "build", file), "utf8");
      return [...text.matchAll(/new URL\(`\.\/([^`$]+)\$\{extname/g)].map(([, name]) =>
        join(dirname(file), `${name}.js`),
      );
    });
    assert.deepEqual(
      started.filter((file) => !files.includes(file)),
      [],
    );
    assert.equal(started.length, threads[workspace] ?? 0);
  });
}

test("a built node with several workers serves the configuration of a file", async (context) => {
  const upstream = createServer((_request, response) => response.end("here"));
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  context.after(() => upstream.close());
  const folder = temporaryFolder("build");
  context.after(folder.remove);
  const file = join(folder.path, "sluice.json");
  const routes = Array.from({ length: 500 }, (_, index) => ({ name: `route-${index}`, paths: [`/route-${index}`] }));
  const { port: upstreamPort } = upstream.address() as AddressInfo;
  const service = { name: "up", protocol: "http", host: "127.0.0.1", port: upstreamPort, routes };
  writeFileSync(file, JSON.stringify({ _format_version: "3.0", services: [service] }));
  const [proxy, status] = [await freePort(), await freePort()];
  const node = await startProcess(join(root, "gateway/build/main.js"), ["gateway"], {
    name: "sluice",
    ready: `http://127.0.0.1:${status}/status`,
    env: {
      ...env,
      SLUICE_SOURCE: "file",
      SLUICE_FILE: file,
      SLUICE_WORKERS: "2",
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
    },
  });
  context.after(() => node.stop());
  await node.waitForOutput(/gateway is up/);
  const answer = await fetch(`http://127.0.0.1:${proxy}/route-499`);
  assert.equal(await answer.text(), "here");
});
