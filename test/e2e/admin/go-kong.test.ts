/** Every step of the program in test/clients/go-kong is a test, for each store that the admin API can write to. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { startProcess } from "../../../tools/process/index.ts";
import { obtainTool } from "../../../tools/programs/tool.ts";
import { writableStores } from "./stores.ts";

interface Step {
  readonly step: string;
  readonly ok: boolean;
  readonly error?: string;
}

for (const store of writableStores) {
  // The program runs first, because its output names the steps, and tests must be declared while this file is loaded.
  const running = await store.start();
  const program = await startProcess(await obtainTool("go-kong"), [running.admin], { name: "go-kong" });
  const exit = await program.ended();
  await running.stop();
  const output = program.output();

  describe(`go-kong on a ${store.name} store`, () => {
    const lines = output.split("\n").filter((line) => line.startsWith("{"));
    const steps = lines.map((line): Step => JSON.parse(line));
    for (const { step, ok, error } of steps) {
      test(step, () => assert.deepEqual({ ok, error }, { ok: true, error: undefined }));
    }

    test("the program runs all steps, and its exit code shows whether one of them failed", () => {
      assert.equal(exit.code, steps.every(({ ok }) => ok) ? 0 : 1, output);
      assert.match(steps.at(-1)?.step ?? output, /^tags: list/);
    });
  });
}
