/**
 * A node that serves the output of `sluice migrate --write` never lets an upstream answer a request that Kong refuses.
 * The same configuration is written as custom resources for an operator, and as a file.
 */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { builtProgram } from "../../tools/build/programs.ts";
import { freePort, type Process, startProcess, temporaryFolder, waitFor } from "../../tools/process/index.ts";

const folder = temporaryFolder("migrated");
const token = "push-token-of-the-test";
const sluice = await builtProgram("gateway");
const upstream = createServer((_request, response) => response.end("upstream"));
before(() => new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve)));
const running: Process[] = [];
after(async () => {
  await Promise.all(running.map((process) => process.stop()));
  upstream.close();
  folder.remove();
});

const configuration = (port: number) => `_format_version: "3.0"
services:
- name: up
  url: http://127.0.0.1:${port}
  routes:
  - {name: open, paths: [/]}
  - {name: keyed, paths: [/keyed], plugins: [{name: key-auth}]}
  - {name: foreign, paths: [/foreign], plugins: [{name: oauth2, config: {scopes: [a]}}]}
  - {name: look-around, paths: ['~/admin/(?!health)'], plugins: [{name: key-auth}]}
  - {name: unprotected, paths: ['~/free/(?!x)']}
  - {name: denied, paths: [/denied], plugins: [{name: key-auth}, {name: acl, config: {deny: [banned]}}]}
  - {name: tagged, paths: [/tagged], plugins: [{name: key-auth}, {name: acl, config: {allow: [tagged]}}]}
- name: stream
  url: tcp://127.0.0.1:${port}
  routes:
  - {name: of-stream, paths: [/stream], plugins: [{name: key-auth}]}
consumers:
- username: alice
  keyauth_credentials: [{key: of-alice}]
- username: eve
  keyauth_credentials: [{key: of-eve}]
  acls: [{group: "{vault://hcv/group}"}, {group: tagged, tags: ["a,b"]}]
`;

const rows: readonly (readonly [path: string, key: string | null, status: number])[] = [
  ["/anything", null, 200],
  ["/keyed", null, 401],
  ["/keyed", "of-alice", 200],
  ["/foreign", null, 503],
  ["/admin/users", null, 503],
  ["/admin/users", "of-alice", 503],
  ["/free/y", null, 200],
  ["/denied", "of-eve", 503],
  ["/tagged", "of-eve", 200],
  ["/tagged", "of-alice", 403],
  ["/stream", "of-alice", 503],
];

async function migrate(...args: readonly string[]): Promise<void> {
  const { port } = upstream.address() as AddressInfo;
  writeFileSync(join(folder.path, "kong.yml"), configuration(port));
  const command = await startProcess(sluice, ["migrate", "kong.yml", "--write", ...args], {
    name: "migrate",
    cwd: folder.path,
  });
  const { code } = await command.ended();
  assert.equal(code, 3, command.output());
}

/** Starts a node with these settings. Resolves to the base URL of its proxy. */
async function startNode(env: Readonly<Record<string, string>>): Promise<string> {
  const [proxy, status] = [await freePort(), await freePort()];
  const node = await startProcess(sluice, ["gateway"], {
    name: "node",
    ready: /gateway is up/,
    cwd: folder.path,
    env: {
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
      ...env,
    },
  });
  running.push(node);
  return `http://127.0.0.1:${proxy}`;
}

async function startWithResources(): Promise<string> {
  await migrate("resources");
  const push = await freePort();
  const address = await startNode({ SLUICE_PUSH_TOKEN: token, SLUICE_PUSH_LISTEN: `127.0.0.1:${push}` });
  const operator = await startProcess(await builtProgram("operator"), [], {
    name: "operator",
    ready: /operator is up/,
    cwd: folder.path,
    env: {
      SLUICE_DIRECTORY: "resources",
      SLUICE_OPERATOR_LISTEN: `127.0.0.1:${await freePort()}`,
      SLUICE_NODES: `http://127.0.0.1:${push}`,
      SLUICE_PUSH_TOKEN: token,
    },
  });
  running.push(operator);
  await waitFor(async () => (await fetch(address)).status === 200, { what: "the node to serve the resources" });
  return address;
}

async function startWithFile(): Promise<string> {
  await migrate("sluice.yml", "--format", "file");
  return startNode({ SLUICE_SOURCE: "file", SLUICE_FILE: "sluice.yml" });
}

for (const [what, start] of [
  ["custom resources", startWithResources],
  ["a file", startWithFile],
] as const) {
  describe(`a node that serves ${what} written by sluice migrate`, () => {
    let address = "";
    before(async () => {
      address = await start();
    });
    for (const [path, key, status] of rows) {
      test(`answers ${path} ${key === null ? "without a key" : `with the key ${key}`} with ${status}`, async () => {
        const response = await fetch(`${address}${path}`, { headers: key === null ? {} : { apikey: key } });
        assert.equal(response.status, status);
        assert.equal((await response.text()) === "upstream", status === 200);
      });
    }
  });
}
