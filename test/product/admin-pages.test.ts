/** Runs the commands of pages that need one gateway. Only their port numbers are changed. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { builtProgram } from "../../tools/build/programs.ts";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";

const pages = [
  "explain-a-request.md",
  "find-refused-requests.md",
  "plan-changes.md",
  "see-and-undo-changes.md",
  "manage-api-keys.md",
  "verify-tokens.md",
  "allow-cross-origin-requests.md",
  "limit-requests.md",
  "serve-tls.md",
  "forward-tcp-and-tls.md",
  "cache-responses.md",
  "release-gradually.md",
  "back-up-and-restore.md",
];

/** The ports that the pages use: the proxy, the admin API, the proxy with TLS, upstreams, and connections. */
const ports = [8000, 8001, 8443, 9001, 9002, 9100, 9443];

/** A page's file, and its commands with the members of the response that the page shows after them. */
function readPage(name: string) {
  const page = readFileSync(join(repositoryRoot, "docs/how-to", name), "utf8");
  const [, file = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];
  const steps = [...page.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```(json|text)\n([\s\S]*?)```)?/g)].map(
    ([, commands = "", language, shown]) => ({ commands, language, shown }),
  );
  assert.ok(steps.filter(({ shown }) => shown !== undefined).length > 2);
  return { file, steps };
}

/** The text with this system's line breaks, and without the parts that differ in every run. */
const stable = (text: string): string =>
  text
    .trim()
    .replaceAll("\r\n", "\n")
    .replaceAll(/dur=[\d.]+/g, "dur=N")
    .replaceAll(/(?<="request_id":")[^"]+/g, "…");

// Each page has a gateway of its own. Most of the time is for starting gateways, so several pages run at a time.
suite("a page", { concurrency: 4 }, () => {
  for (const name of pages)
    test(`the commands of ${name} print what the page shows`, async (context) => {
      const { file, steps } = readPage(name);
      const folder = temporaryFolder("admin-page");
      context.after(() => folder.remove());
      const free = new Map(
        await Promise.all(ports.map(async (port) => [String(port), String(await freePort())] as const)),
      );
      const portable = (text: string) => text.replaceAll(/\b[89]\d{3}\b/g, (port) => free.get(port) ?? port);
      writeFileSync(join(folder.path, "sluice.yml"), portable(file));
      const node = await startProcess(await builtProgram("gateway"), ["start"], {
        name: "sluice",
        cwd: folder.path,
        env: {
          SLUICE_STORE: "file",
          SLUICE_FILE: "sluice.yml",
          SLUICE_FILE_WRITABLE: "true",
          SLUICE_ALLOWED_UPSTREAMS: "127.0.0.0/8",
          SLUICE_PROXY_LISTEN: portable("127.0.0.1:8000"),
          SLUICE_PROXY_TLS_LISTEN: portable("127.0.0.1:8443"),
          SLUICE_STREAM_LISTEN: portable("127.0.0.1:9100, 127.0.0.1:9443 ssl"),
          SLUICE_ADMIN_LISTEN: portable("127.0.0.1:8001"),
          SLUICE_STATUS_LISTEN: `127.0.0.1:${await freePort()}`,
        },
        ready: new URL(portable("http://127.0.0.1:8001/status")),
      });
      context.after(() => node.stop());
      // One shell for all steps: later steps use variables and background processes of earlier ones.
      const script = steps.map(({ commands }) => `${portable(commands)}\nprintf '\\n=== end of a step\\n'\n`);
      const env = {
        PATH: `${join(repositoryRoot, "node_modules/.bin")}:${process.env.PATH}`,
        SLUICE_ADMIN_URL: portable("http://127.0.0.1:8001"),
      };
      const shell = await startProcess("sh", ["-ec", script.join("")], { name: "page", cwd: folder.path, env });
      assert.equal((await shell.ended()).code, 0, shell.tail());
      const printed = shell.output().split("\n=== end of a step\n");
      for (const [at, { commands, language, shown }] of steps.entries()) {
        if (shown === undefined) continue;
        const text = printed[at] ?? "";
        if (language === "json") assert.partialDeepStrictEqual(JSON.parse(text), JSON.parse(portable(shown)), text);
        else assert.equal(stable(text), stable(shown), commands);
      }
    });
});
