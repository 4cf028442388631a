/** The volume for a node's document is full. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import type { Resource } from "@sluice/crds";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { getUrl } from "../../product/client.ts";
import { routeObject } from "../../product/resources.ts";
import { changeDuringFault, expectedOutcome, readOutcome } from "./change-during-fault.ts";
import { type FaultEnvironment, startFaultEnvironment } from "./fault-environment.ts";

const folder = temporaryFolder("volume");
const volume = `${folder.path}/volume`;
const ballast = `${volume}/ballast`;
let environment: FaultEnvironment;

before(async () => {
  assert.equal(process.getuid?.(), 0, "only root can mount a volume of a few kilobytes: run this as root");
  mkdirSync(volume);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", volume]);
  environment = await startFaultEnvironment({
    second: { SLUICE_KEPT_DOCUMENT: `${volume}/document`, SLUICE_KEPT_DOCUMENT_WAIT: "500ms" },
  });
});
after(async () => {
  await environment?.close();
  execFileSync("umount", [volume]);
  folder.remove();
});

/** Fills the rest of the volume. */
function fill(): void {
  try {
    writeFileSync(ballast, Buffer.alloc(1024 * 1024));
  } catch (error) {
    assert.equal((error as NodeJS.ErrnoException).code, "ENOSPC");
  }
}

test("a node with a full disk keeps serving, logs the failed write once, and saves the whole document when there is space again", async () => {
  const [, second] = environment.nodes;
  await changeDuringFault(environment, {
    async fault(change) {
      fill();
      // These paths take more bytes than are free in the last page of the node's file.
      const paths = Array.from({ length: 16 }, (_, at) => `/${"long".repeat(100)}/${at}`);
      const long = routeObject("long", { serviceRef: { name: "echo" }, paths }) as Resource;
      await environment.client.apply("Route", long, { manager: "test" });
      await second.process.waitForOutput(/cannot save the document/, { timeout: 60_000 });
      await environment.client.remove({ kind: "Route", namespace: "default", name: "long" });
      await change();
    },
  });
  assert.equal(second.process.output().match(/cannot save the document/g)?.length, 1);
  rmSync(ballast);
  await changeDuringFault(environment, { fault: (change) => change(), least: 5 });
  await environment.operator.process.kill9();
  await second.process.stop();
  await second.start();
  await waitFor(async () => (await getUrl(`${second.status}/status/ready`)).status === 200, {
    what: "the saved document",
  });
  assert.deepEqual((await readOutcome(environment)).served, expectedOutcome.served);
});
