/** Runs the commands of the page about limits over a fleet. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../../../tools/process/index.ts";
import { runPage } from "../run-page.ts";

/** The proxy, peer and status listeners of the three nodes. */
const ports = [8000, 8006, 8007, 8010, 8016, 8017, 8020, 8026, 8027];

test("the commands of limit-requests-without-redis.md print what the page shows", async (context) => {
  const replaced = Object.fromEntries(
    await Promise.all(ports.map(async (port) => [`127.0.0.1:${port}`, `127.0.0.1:${await freePort()}`] as const)),
  );
  const steps = await runPage(context, "docs/how-to/limit-requests-without-redis.md", { replaced });
  assert.equal(steps.filter(({ isBackground }) => isBackground).length, 3);
  assert.ok(steps.filter(({ output }) => output !== "").length >= 5);
});
