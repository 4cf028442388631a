/** A restarted operator continues from what the previous operator published and saved. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createDirectoryStateBackend } from "@sluice/crds";
import { waitFor } from "../../../tools/process/index.ts";
import { operatorsOver } from "./testing-operator.ts";

const operators = await operatorsOver("durable");
const { folder, node, write, paths } = operators;

/** @param options.hears Whether the saved state can be read only after the operator has polled the node. */
async function start({ interval = "50ms", hears = false } = {}) {
  const store = createDirectoryStateBackend(folder, "document");
  const heard = Promise.withResolvers<void>();
  if (!hears) heard.resolve();
  const manifest = () => heard.promise.then(store.manifest);
  const operator = await operators.start({ store: { ...store, manifest }, interval });
  if (hears)
    await waitFor(async () => (await operator.status()).nodes[0]?.hash, {
      what: "the operator to know the node's document",
    });
  heard.resolve();
  return operator;
}

const kept = join(folder, ".status", "document");
const manifest = () => JSON.parse(readFileSync(join(kept, "manifest"), "utf8")) as { hash: string; term: number };

test("an operator that shuts down gracefully saves the last acknowledged state", async () => {
  write("users", { url: "http://users.test" }, "Service");
  write("route", { serviceRef: { name: "users" }, paths: ["/first"] });
  const operator = await start({ interval: "1h" });
  let hash: string | null = null;
  try {
    await waitFor(() => paths().includes("/first"), { what: "the node to serve the route" });
    hash = (await operator.status()).hash;
    await waitFor(() => manifest().hash === hash, { what: "the document to be saved" });
    write("route", { serviceRef: { name: "users" }, paths: ["/second"] });
    await waitFor(() => paths().includes("/second"), { what: "the node to serve the change" });
    // The node serves the document before its acknowledgement of the document reaches the operator.
    await waitFor(
      async () => {
        const status = await operator.status();
        hash = status.hash;
        return status.nodes[0]?.hash === hash;
      },
      { what: "the node to acknowledge the change" },
    );
    assert.notEqual(manifest().hash, hash, "the change was saved before the interval of an hour had passed");
  } finally {
    await operator.close();
  }
  assert.equal(manifest().hash, hash);
});

test("the next operator saves acknowledged state that the previous operator did not save", async () => {
  rmSync(kept, { recursive: true });
  const operator = await start({ hears: true });
  try {
    const isKept = async () => (await operator.status()).hash === manifest().hash;
    await waitFor(() => isKept().catch(() => false), { what: "the document to be saved" });
    assert.equal(manifest().hash, node.snapshot?.hash);
  } finally {
    await operator.close();
  }
});

test("a route that became invalid while no operator ran is served in its saved version; the saved files are private and encrypted", async () => {
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
    const status = await first.status();
    term = status.term ?? 0;
    await waitFor(() => manifest().hash === status.hash, { what: "the document to be saved" });
    assert.equal(manifest().term, status.term);
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
    assert.ok(((await second.status()).term ?? 0) > term, "the term grows");
  } finally {
    await second.close();
  }
});
