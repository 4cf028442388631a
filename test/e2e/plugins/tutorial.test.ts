/** The tutorial for authors of plugins, executed as it stands, except for the numbers of its ports. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { root } from "../../../tools/check/source-files.ts";
import { freePort, startProcess, temporaryFolder } from "../../../tools/process/index.ts";

const folder = temporaryFolder("tutorial");
after(folder.remove);

const page = readFileSync(join(root, "docs/tutorials/your-first-plugin.md"), "utf8");

/** A block of the page: a file to write, or commands with their documented output. */
const block = /Replace `([^`]+)` with:\n\n```ts\n([\s\S]*?)```|```sh\n([\s\S]*?)```(?:\n```\n([\s\S]*?)```)?/g;

test("the commands of the tutorial print what the page shows", async () => {
  const steps: { readonly commands: string; readonly output: string }[] = [];
  for (const [, file, text = "", commands, output = ""] of page.matchAll(block))
    steps.push(
      commands === undefined ? { commands: `cat > '${file}' <<'FILE'\n${text}FILE\n`, output } : { commands, output },
    );
  assert.equal(steps.filter(({ commands }) => commands.startsWith("cat > 'index.")).length, 2);
  assert.ok(steps.filter(({ output }) => output !== "").length >= 4);
  const script = steps.map(({ commands }, at) => `{ ${commands}\n}\necho "=== end of step ${at}"\n`).join("");
  const [proxy, status] = [await freePort(), await freePort()];
  const portable = script.replaceAll(":8000", `:${proxy}`).replaceAll(":8007", `:${status}`);
  const bash = await startProcess("bash", ["-ec", `trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n${portable}`], {
    name: "tutorial",
    cwd: root,
    env: { TMPDIR: folder.path, NODE_TEST_CONTEXT: undefined },
  });
  after(() => bash.stop());
  const { code } = await bash.ended();
  const printed = bash.output().split(/^=== end of step \d+\n/m);
  assert.equal(code, 0, bash.tail());
  for (const [at, { commands, output }] of steps.entries())
    assert.ok(printed[at]?.endsWith(output), `${commands}\nprinted\n${printed[at]}\ninstead of\n${output}`);
});
