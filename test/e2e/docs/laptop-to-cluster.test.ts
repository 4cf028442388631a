/** Runs the commands of the tutorial about Kubernetes, on a cluster with real pods. */
import assert from "node:assert/strict";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { writeCommand } from "../../../tools/cluster/command.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { cacheFolder } from "../../../tools/programs/obtain/cache.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { runPage } from "../run-page.ts";

test("the commands of laptop-to-cluster.md print what the page shows", async (context) => {
  const folder = temporaryFolder("laptop-to-cluster");
  context.after(() => folder.remove());
  // The page requires Helm on the PATH.
  writeCommand(folder.path, "helm", [await obtainTool("helm")]);
  const work = join(folder.path, "work");
  const steps = await runPage(context, "docs/tutorials/laptop-to-cluster.md", {
    env: {
      PATH: `${folder.path}${delimiter}${process.env.PATH}`,
      SLUICE_CACHE: cacheFolder(),
      SLUICE_WORK: work,
      HOME: folder.path,
    },
    replaced: { "$PWD/.sluice/": `${work}/`, ".sluice/": `${work}/` },
  });
  assert.ok(steps.filter(({ output }) => output !== "").length >= 8);
});
