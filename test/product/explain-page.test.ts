/** Runs the commands of docs/how-to/explain-a-request.md as written, with other port numbers. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";

const page = readFileSync(join(root, "docs/how-to/explain-a-request.md"), "utf8");
const [, file = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];

/** Commands, and the members of the response that the page shows after them. */
const steps = [...page.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```json\n([\s\S]*?)```)?/g)].map(
  ([, commands = "", shown]) => ({ commands, shown }),
);

test("the commands of explain-a-request.md print what the page shows", async (context) => {
  const folder = temporaryFolder("explain-page");
  context.after(() => folder.remove());
  writeFileSync(join(folder.path, "sluice.yml"), file);
  const [proxy, admin, status] = [await freePort(), await freePort(), await freePort()];
  const node = await startProcess(join(root, "gateway/src/main.ts"), ["start"], {
    name: "sluice",
    cwd: folder.path,
    env: {
      SLUICE_STORE: "file",
      SLUICE_FILE: "sluice.yml",
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_ADMIN_LISTEN: `127.0.0.1:${admin}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
    },
    ready: new URL(`http://127.0.0.1:${admin}/status`),
  });
  context.after(() => node.stop());
  assert.ok(steps.filter(({ shown }) => shown !== undefined).length > 4);
  for (const { commands, shown } of steps) {
    const portable = commands.replaceAll(":8000", `:${proxy}`).replaceAll(":8001", `:${admin}`);
    const shell = await startProcess("sh", ["-ec", portable], { name: "page" });
    await shell.ended();
    if (shown === undefined) continue;
    assert.partialDeepStrictEqual(JSON.parse(shell.output()), JSON.parse(shown), shell.output());
  }
});
