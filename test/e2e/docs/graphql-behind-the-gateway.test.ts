/** Runs the commands of the pages about GraphQL. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { refuseTakenPorts } from "../../../tools/start/ports.ts";
import { standardAddresses } from "../../../tools/start/processes.ts";
import { runPage } from "../run-page.ts";

test("the commands of graphql-behind-the-gateway.md print what the page shows", async (context) => {
  await refuseTakenPorts(standardAddresses);
  const steps = await runPage(context, "docs/tutorials/graphql-behind-the-gateway.md", { replaced: {} });
  assert.equal(steps.filter(({ isBackground }) => isBackground).length, 2);
  assert.ok(steps.filter(({ output }) => output !== "").length >= 7);
});

test("the commands of limit-graphql-operations.md print what the page shows", async (context) => {
  const steps = await runPage(context, "docs/how-to/limit-graphql-operations.md", { replaced: {} });
  assert.equal(steps.filter(({ isBackground }) => isBackground).length, 2);
  assert.ok(steps.filter(({ output }) => output !== "").length >= 6);
  assert.ok((steps.at(-1)?.seconds ?? Infinity) < 600, "the page takes ten minutes at most");
});
