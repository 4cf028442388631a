import assert from "node:assert/strict";
import { test } from "node:test";
import { createCrds } from "./crds.ts";
import { outputValue, readObjects, registerInto } from "./testing.ts";

test("the CRDs are those of the folder crds, and stay when the stack is destroyed", async () => {
  const registered = registerInto();
  const retained: unknown[] = [];
  const crds = createCrds({
    transformations: [
      ({ opts }) => {
        retained.push(opts.retainOnDelete);
        return undefined;
      },
    ],
  });
  for (const { urn } of crds) await outputValue(urn);
  assert.deepEqual(
    registered.map(({ inputs }) => inputs).toSorted((a, b) => a.metadata.name.localeCompare(b.metadata.name)),
    readObjects("crds"),
  );
  assert.deepEqual(
    retained,
    readObjects("crds").map(() => true),
  );
});
