/** Runs the commands of pages about the admin API as written, with other port numbers. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { root } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";

const pages = ["explain-a-request.md", "find-refused-requests.md"];

/** A page's file, and its commands with the members of the response that the page shows after them. */
function readPage(name: string) {
  const page = readFileSync(join(root, "docs/how-to", name), "utf8");
  const [, file = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const steps = [...page.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```(?:json|text)\n([\s\S]*?)```)?/g)].map(
    ([, commands = "", shown]) => ({ commands, shown }),
  );
  assert.ok(steps.filter(({ shown }) => shown !== undefined).length > 3);
  return { file, steps };
}

/** The text with all durations replaced. */
const withoutDurations = (text: string): string => text.trim().replaceAll(/dur=[\d.]+/g, "dur=N");

for (const name of pages)
  test(`the commands of ${name} print what the page shows`, async (context) => {
    const { file, steps } = readPage(name);
    const folder = temporaryFolder("admin-page");
    context.after(() => folder.remove());
    writeFileSync(join(folder.path, "sluice.yml"), file);
    const [proxy, admin, status] = [await freePort(), await freePort(), await freePort()];
    const node = await startProcess(join(root, "gateway/src/main.ts"), ["start"], {
      name: "sluice",
      cwd: folder.path,
      env: {
        SLUICE_STORE: "file",
        SLUICE_FILE: "sluice.yml",
        SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
        SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
        SLUICE_ADMIN_LISTEN: `127.0.0.1:${admin}`,
        SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
      },
      ready: new URL(`http://127.0.0.1:${admin}/status`),
    });
    context.after(() => node.stop());
    for (const { commands, shown } of steps) {
      const portable = commands.replaceAll(":8000", `:${proxy}`).replaceAll(":8001", `:${admin}`);
      const shell = await startProcess("sh", ["-ec", portable], { name: "page" });
      await shell.ended();
      if (shown === undefined) continue;
      if (shown.startsWith("{"))
        assert.partialDeepStrictEqual(JSON.parse(shell.output()), JSON.parse(shown), shell.output());
      else assert.equal(withoutDurations(shell.output()), withoutDurations(shown));
    }
  });
