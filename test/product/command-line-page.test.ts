/** Runs the commands of docs/how-to/use-the-command-line.md as written, with other ports of the admin API and the proxy. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { builtProgram } from "../../tools/build/programs.ts";
import { repositoryRoot } from "../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../tools/process/index.ts";

const page = readFileSync(join(repositoryRoot, "docs/how-to/use-the-command-line.md"), "utf8");
const [, file = ""] = /```yaml\n([\s\S]*?)```/.exec(page) ?? [];

/** Commands, and the lines that the page shows after them. */
const steps = [...page.matchAll(/```sh\n([\s\S]*?)```(?:\n\n```text\n([\s\S]*?)```)?/g)].map(
  ([, commands = "", shown = ""]) => ({ commands, shown }),
);

/** Words of a line. The page leaves out words, but keeps their order. */
const wordsOf = (line: string): readonly string[] => line.split(/\s+/).filter((word) => word !== "");

function hasWordsInOrder(line: string, wanted: readonly string[]): boolean {
  const words = wordsOf(line);
  let from = 0;
  return wanted.every((word) => {
    from = words.indexOf(word, from) + 1;
    return from > 0;
  });
}

test("the commands of use-the-command-line.md print what the page shows", async (context) => {
  const folder = temporaryFolder("command-line-page");
  context.after(() => folder.remove());
  writeFileSync(join(folder.path, "sluice.yml"), file);
  const [proxy, admin, status] = [await freePort(), await freePort(), await freePort()];
  const [, command = ""] = /run `sluice (start [^`]*)`/.exec(page) ?? [];
  const node = await startProcess(await builtProgram("gateway"), command.split(" "), {
    name: "sluice",
    cwd: folder.path,
    env: {
      SLUICE_PROXY_LISTEN: `127.0.0.1:${proxy}`,
      SLUICE_ADMIN_LISTEN: `127.0.0.1:${admin}`,
      SLUICE_STATUS_LISTEN: `127.0.0.1:${status}`,
    },
    ready: new URL(`http://127.0.0.1:${admin}/status`),
  });
  context.after(() => node.stop());
  const env = {
    PATH: `${join(repositoryRoot, "node_modules/.bin")}:${process.env.PATH}`,
    SLUICE_ADMIN_URL: `http://127.0.0.1:${admin}`,
  };
  assert.ok(steps.length > 5);
  for (const { commands, shown } of steps) {
    const script = commands.replaceAll("127.0.0.1:8000", `127.0.0.1:${proxy}`);
    // In one stream, the lines of standard output and standard error keep their order.
    const shell = await startProcess(
      "sh",
      [
        "-ec",
        `exec 2>&1
${script}`,
      ],
      { name: "page", cwd: folder.path, env },
    );
    const { code } = await shell.ended();
    const printed = shell.output();
    assert.equal(code, 0, `${commands}\n${printed}`);
    const lines = printed.split("\n");
    let from = 0;
    for (const line of shown.trimEnd().split("\n")) {
      const at = lines.findIndex((one, index) => index >= from && hasWordsInOrder(one, wordsOf(line)));
      assert.ok(at >= 0, `${commands}\nprints no line '${line}' in this place:\n${printed}`);
      from = at + 1;
    }
  }
});
