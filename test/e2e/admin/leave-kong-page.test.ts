/** Runs the commands of docs/how-to/leave-kong.md on a dump of decK, with other port numbers. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runPage } from "../run-page.ts";

test("the commands of leave-kong.md print what the page shows", async (context) => {
  const steps = await runPage(context, "docs/how-to/leave-kong.md");
  assert.equal(steps.filter(({ output }) => output !== "").length, 4);
});
