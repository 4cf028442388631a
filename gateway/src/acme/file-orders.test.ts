import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { applyChange, type Certificate, checkEntity, emptySnapshot, type Snapshot } from "@sluice/model";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { firstKeyPair } from "../../../tools/programs/pairs.ts";
import type { SnapshotSink, Source } from "../sources/source.ts";
import { FileOrders } from "./file-orders.ts";

const certificateOf = (domain: string) =>
  checkEntity("certificates", { acme: { domains: [domain] } }).value as Certificate;

test("a stored pair that cannot be used leaves the other certificates in service", async (context) => {
  const folder = temporaryFolder("acme-file");
  context.after(() => folder.remove());
  const [good, damaged] = [certificateOf("good.example"), certificateOf("damaged.example")];
  const { cert, key } = firstKeyPair;
  const store = (id: string, pair: object) => writeFileSync(join(folder.path, `${id}.json`), JSON.stringify({ pair }));
  store(good.id, { cert, key });
  store(damaged.id, { cert: cert.slice(0, 100), key });

  const log: string[] = [];
  const write = (_details: object, message: string) => void log.push(message);
  const orders = new FileOrders(folder.path, { info: write, warn: write, error: write });
  let served: Snapshot = emptySnapshot;
  const sink = {
    async update(_revision: number, next: (previous: Snapshot) => { readonly value?: Snapshot }) {
      served = next(served).value ?? served;
      return { value: {} };
    },
  };
  const plain = applyChange(emptySnapshot, { put: { certificates: [good, damaged] }, remove: {} });
  const source = { start: (to: SnapshotSink) => to.update(1, () => plain) };
  await orders.around(source as unknown as Source).start(sink as unknown as SnapshotSink);
  assert.equal(served.certificates.get(good.id)?.cert, cert);
  assert.equal(served.certificates.get(damaged.id)?.cert, null);
  assert.deepEqual(log, ["an ordered certificate cannot be used"]);
});
