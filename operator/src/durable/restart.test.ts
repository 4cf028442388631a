/** An operator that was started anew knows what the one before had published. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { createDirectoryClient, createDirectoryStore } from "@sluice/crds";
import { readSettings } from "@sluice/model";
import { pino } from "pino";
import { temporaryFolder, waitFor } from "../../../test/process/index.ts";
import { startOperator } from "../operator.ts";
import { operatorSettings } from "../settings.ts";
import { startTestNode } from "../testing-node.ts";

const TOKEN = "token-of-the-test";
const log = pino({ level: "silent" });
const folder = temporaryFolder("durable");
after(() => folder.remove());
const node = await startTestNode(TOKEN);
after(() => node.stop());

const write = (name: string, spec: object, kind = "Route") =>
  writeFileSync(
    join(folder.path, `${name}.json`),
    JSON.stringify({ apiVersion: "sluice.dev/v1alpha1", kind, metadata: { name }, spec }),
  );

interface Told {
  readonly hash: string;
  readonly term: number;
  readonly nodes: readonly { readonly hash: string | null }[];
}

/** @param options.hears What is kept can be read only after the operator has heard of the node. */
async function start({ interval = "50ms", hears = false } = {}) {
  const client = createDirectoryClient({ directory: folder.path, log });
  const settings = readSettings(operatorSettings, {
    SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
    SLUICE_DIRECTORY: folder.path,
    SLUICE_NODES: node.address,
    SLUICE_PUSH_TOKEN: TOKEN,
    SLUICE_DOCUMENT_INTERVAL: interval,
  });
  assert.ok(settings.value, JSON.stringify(settings.violations));
  const store = createDirectoryStore(folder.path, "document");
  const heard = Promise.withResolvers<void>();
  if (!hears) heard.resolve();
  const operator = await startOperator({
    settings: settings.value,
    client,
    proof: { credentials: { token: TOKEN } },
    store: { ...store, manifest: () => heard.promise.then(store.manifest) },
    log,
  });
  const address = `http://127.0.0.1:${operator.address.port}`;
  const told = async () => (await (await fetch(`${address}/status`)).json()) as Told;
  if (hears) await waitFor(async () => (await told()).nodes[0]?.hash, { what: "the operator to hear of the node" });
  heard.resolve();
  return {
    told,
    async close() {
      await operator.close();
      await client.close();
    },
  };
}

const kept = join(folder.path, ".status", "document");
const manifest = () => JSON.parse(readFileSync(join(kept, "manifest"), "utf8")) as { hash: string; term: number };
const paths = () => [...(node.snapshot?.routes.values() ?? [])].flatMap((route) => route.paths ?? []).sort();

test("an operator that ends in order keeps what was acknowledged last", async () => {
  write("users", { url: "http://users.test" }, "Service");
  write("route", { serviceRef: { name: "users" }, paths: ["/first"] });
  const operator = await start({ interval: "1h" });
  let hash = "";
  try {
    await waitFor(() => paths().includes("/first"), { what: "the node to serve the route" });
    hash = (await operator.told()).hash;
    await waitFor(() => manifest().hash === hash, { what: "the document to be kept" });
    write("route", { serviceRef: { name: "users" }, paths: ["/second"] });
    await waitFor(() => paths().includes("/second"), { what: "the node to serve the change" });
    ({ hash } = await operator.told());
    assert.notEqual(manifest().hash, hash, "an hour is not over");
  } finally {
    await operator.close();
  }
  assert.equal(manifest().hash, hash);
});

test("what the nodes have already is kept by the next operator, should the one before not have come to it", async () => {
  rmSync(kept, { recursive: true });
  const operator = await start({ hears: true });
  try {
    const isKept = async () => (await operator.told()).hash === manifest().hash;
    await waitFor(() => isKept().catch(() => false), { what: "the document to be kept" });
    assert.equal(manifest().hash, node.snapshot?.hash);
  } finally {
    await operator.close();
  }
});

test("a route that was made invalid while no operator ran is served as the nodes acknowledged it last", async () => {
  const secret = "a-password-of-the-configuration";
  write("users", { url: "http://users.test" }, "Service");
  write(
    "limits",
    { plugin: "rate-limiting", config: { minute: 5, policy: "redis", redis: { host: "r.test", password: secret } } },
    "Plugin",
  );
  write("route", { serviceRef: { name: "users" }, paths: ["/valid"] });
  const first = await start();
  let term = 0;
  try {
    await waitFor(() => paths().includes("/valid"), { what: "the node to serve the route" });
    const told = await first.told();
    term = told.term;
    await waitFor(() => manifest().hash === told.hash, { what: "the document to be kept" });
    assert.equal(manifest().term, told.term);
  } finally {
    await first.close();
  }
  for (const file of readdirSync(kept)) {
    assert.equal(statSync(join(kept, file)).mode & 0o777, 0o600, file);
    assert.ok(!readFileSync(join(kept, file), "latin1").includes(secret), file);
  }
  write("route", { serviceRef: { name: "users" }, paths: ["no-slash"] });
  await node.restart();
  const second = await start();
  try {
    await waitFor(() => paths().includes("/valid"), { what: "the node to serve the last valid route" });
    assert.ok((await second.told()).term > term, "the term goes on");
  } finally {
    await second.close();
  }
});
