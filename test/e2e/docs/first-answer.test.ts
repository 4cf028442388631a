/** Runs the commands of the first tutorial, from the clone on, and measures them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { repositoryRoot } from "../../../tools/check/source-files.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { refuseTakenPorts } from "../../../tools/start/ports.ts";
import { standardAddresses } from "../../../tools/start/processes.ts";
import { runPage } from "../run-page.ts";

test("the commands of first-answer.md print what the page shows, and the first request is answered within two minutes of the clone", async (context) => {
  await refuseTakenPorts(standardAddresses);
  const folder = temporaryFolder("first-answer");
  context.after(() => folder.remove());
  const steps = await runPage(context, "docs/tutorials/first-answer.md", {
    cwd: folder.path,
    env: { REPOSITORY: repositoryRoot, npm_config_loglevel: "error" },
    replaced: {},
  });
  const answered = steps.find(({ output }) => output.startsWith('{"data":'));
  assert.ok(answered !== undefined && answered.seconds < 120, `the answer came after ${answered?.seconds} s`);
  context.diagnostic(`the answer came after ${answered.seconds} s`);
});
