import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { newAccount } from "../counters/fleet/accounts.ts";
import type { ReportedCounter } from "../counters/fleet/messages.ts";
import { LedgerFile, type LedgerFileOptions } from "./ledger-file.ts";

const folder = temporaryFolder("ledger-file");
after(() => folder.remove());
let files = 0;

const reported = (name: string, used = 1, expires = Date.now() + 60_000): ReportedCounter => ({
  counter: { name, scope: "-:-:-", period: "day", windowStart: 0, expires, limit: 10 },
  accounts: [["node", { ...newAccount(1), granted: used, used }]],
  seen: undefined,
  overshoot: 0,
});

const unexpected = () => assert.fail("the file is not full");
const fileOf = (options: Partial<LedgerFileOptions> = {}) => {
  const file = join(folder.path, `state-${files++}`, "counters.json");
  return { file, open: () => new LedgerFile({ file, onFull: unexpected, ...options }) };
};
const usedOf = (counters: readonly ReportedCounter[]) =>
  Object.fromEntries(counters.map(({ counter, accounts }) => [counter.name, accounts[0]?.[1].used]));

describe("the file of the counters of a fleet", () => {
  it("is created with its folder, has the last content of each counter, and is readable by its owner only", async () => {
    const { file, open } = fileOf();
    const ledgers = open();
    assert.deepEqual(await ledgers.load(), []);
    await ledgers.save([reported("one"), reported("two")]);
    await ledgers.save([reported("one", 5)]);
    assert.deepEqual(usedOf(await open().load()), { two: 1, one: 5 });
    assert.equal(statSync(file).mode & 0o777, 0o600);
  });

  it("keeps the counters of the former process until their windows end", async () => {
    const { open } = fileOf();
    const first = open();
    await first.load();
    await first.save([reported("ended", 1, Date.now() - 15_001), reported("kept")]);
    const second = open();
    await second.load();
    await second.save([reported("new")]);
    assert.deepEqual(usedOf(await open().load()), { kept: 1, new: 1 });
  });

  it("leaves out the counters that were saved first when it has no more room, and reports this once", async () => {
    let full = 0;
    const onFull = () => {
      full += 1;
    };
    const { open } = fileOf({ capacity: 2, onFull });
    const ledgers = open();
    await ledgers.load();
    await ledgers.save([reported("a"), reported("b"), reported("c")]);
    await ledgers.save([reported("d")]);
    assert.deepEqual(usedOf(await open().load()), { c: 1, d: 1 });
    assert.equal(full, 1);
  });

  for (const [what, change] of [
    ["is cut off", (text: string) => text.slice(0, -10)],
    ["is no list", () => "{}"],
    ["has an invalid number", (text: string) => text.replace('"used":1', '"used":-1')],
  ] as const)
    it(`is refused if it ${what}, with the way to start without it`, async () => {
      const { file, open } = fileOf();
      const ledgers = open();
      await ledgers.load();
      await ledgers.save([reported("one")]);
      writeFileSync(file, change(readFileSync(file, "utf8")));
      await assert.rejects(open().load(), /counters\.json is damaged \(.+\): remove it to let its counters begin at 0/);
    });
});
