import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { checkEntity } from "@sluice/model";
import { temporaryFolder } from "../../../../tools/process/index.ts";
import { createFileSource } from "../../sources/file/file-source.ts";
import { createIntake } from "../../sources/intake.ts";
import { createFileStore } from "./index.ts";

const folder = temporaryFolder("file-reading");
after(() => folder.remove());

test("during a write, readers get the previous state from memory", async () => {
  const file = join(folder.path, "sluice.yml");
  writeFileSync(file, '_format_version: "3.0"\n');
  const log = { info() {}, warn() {}, error() {} };
  const source = createFileSource({ file, log, keepContent: true, interval: 60_000 });
  await source.start(createIntake({ node: "n", version: "0", serve() {} }));
  after(() => source.stop());
  let loads = 0;
  const counting = {
    ...source,
    content() {
      const taken = source.content();
      const loaded = () => {
        loads += 1;
        return taken?.loaded() ?? assert.fail("the source has no content");
      };
      return taken && { ...taken, loaded };
    },
  };
  const store = createFileStore({ file, source: counting, writable: true, programmed: async () => null, log });
  const count = async () => (await store.list("services", { size: 10 })).entities.length;
  assert.deepEqual([await count(), loads], [0, 1]);
  for (const [index, name] of ["a", "b", "c"].entries()) {
    const { value: entity } = checkEntity("services", { name, host: "up" });
    assert.ok(entity);
    let under = true;
    const written = store.write([{ op: "create", collection: "services", entity }]).finally(() => {
      under = false;
    });
    const seen = new Set<number>();
    for (; under; await setImmediate()) seen.add(await count());
    assert.equal((await written).fault, undefined);
    assert.ok(seen.has(index), "at least one read took place during the write");
    assert.equal(await count(), index + 1);
  }
  assert.equal(loads, 1);
});
