import assert from "node:assert/strict";
import { readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { configViolations } from "../../../test/plugins/filled-configs.ts";
import { startLogging } from "../../../test/plugins/log-servers.ts";
import { temporaryFolder } from "../../../tools/process/index.ts";

function temporaryFile(test: TestContext): string {
  const folder = temporaryFolder("file-log");
  test.after(() => folder.remove());
  return join(folder.path, "requests.log");
}

const read = (file: string) => readFileSync(file, "utf8");

describe("file-log", () => {
  it("appends each record as a line to a file that it creates with Kong's mode", async (context) => {
    const path = temporaryFile(context);
    for (const lines of [['{"a":1}', '{"b":2}'], ["{}"]]) {
      const { add, stop } = startLogging(context, "file-log", { path });
      for (const logRecord of lines) add({ logRecord });
      await stop();
    }
    assert.equal(read(path), '{"a":1}\n{"b":2}\n{}\n');
    assert.equal(statSync(path).mode & 0o777, 0o644 & ~process.umask());
  });

  for (const [reopen, moved] of [
    [true, "before\n"],
    [false, "before\nafter\n"],
  ] as const) {
    it(`writes to ${reopen ? "a new" : "the moved"} file after a rotation with reopen ${reopen}`, async (context) => {
      const path = temporaryFile(context);
      const { add, stop } = startLogging(context, "file-log", { path, reopen });
      add({ logRecord: "before" });
      while (!written(path).endsWith("\n")) await new Promise(setImmediate);
      renameSync(path, `${path}.1`);
      add({ logRecord: "after" });
      await stop();
      assert.equal(read(`${path}.1`), moved);
      if (reopen) assert.equal(read(path), "after\n");
    });
  }

  it("drops records and logs the reason if the file cannot be opened", async (context) => {
    const { add, stop, log, dropped } = startLogging(context, "file-log", { path: "/nowhere/requests.log" });
    add({ logRecord: "{}" });
    await stop();
    assert.equal(await dropped(), 1);
    assert.match(JSON.stringify(log), /ENOENT: no such file or directory, open '\/nowhere\/requests.log'/);
  });

  const refused: readonly (readonly [object, string])[] = [
    [{}, "path: required field missing"],
    [{ path: "a*b" }, "path: not a valid filename"],
    [{ path: "a\0b" }, "path: not a valid filename"],
    [
      { path: "/tmp/a", custom_fields_by_lua: { a: "return 1" } },
      "custom_fields_by_lua: Lua is not supported: change the fields in the log server, or in a plugin that calls " +
        "exchange.setLogField(name, value) in its access phase",
    ],
  ];
  for (const [config, violation] of refused) {
    it(`refuses the config ${JSON.stringify(config)}`, () => {
      assert.deepEqual(configViolations("file-log", config), [violation]);
    });
  }
});

function written(path: string): string {
  try {
    return read(path);
  } catch {
    return "";
  }
}
