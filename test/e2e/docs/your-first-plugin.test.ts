/** Runs the commands of the tutorial for authors of plugins, with other port numbers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runPage } from "../run-page.ts";

test("the commands of your-first-plugin.md print what the page shows", async (context) => {
  const steps = await runPage(context, "docs/tutorials/your-first-plugin.md");
  assert.equal(steps.filter(({ commands }) => commands.startsWith("cat > 'index.")).length, 2);
  assert.ok(steps.filter(({ output }) => output !== "").length >= 4);
});
