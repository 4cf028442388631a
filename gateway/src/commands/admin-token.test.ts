import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Declarations, loadSettings } from "@sluice/model/serving";
import { pino } from "pino";
import { temporaryFolder } from "../../../tools/process/index.ts";
import { adminSettings } from "../settings/commands/admin.ts";
import { adminTokenOf } from "./admin-token.ts";

const log = pino({ level: "silent" });

function folderOf(context: TestContext): string {
  const folder = temporaryFolder("admin-token");
  context.after(() => folder.remove());
  return folder.path;
}

const tokenOf = async (env: Readonly<Record<string, string>>, flags: Readonly<Record<string, string>> = {}) =>
  adminTokenOf(await loadSettings<Declarations>(adminSettings, { env, flags }), log);

test("a missing file of SLUICE_ADMIN_TOKEN_FILE is created with a random token, which only its owner can read and a restart keeps", async (context) => {
  const file = join(folderOf(context), "admin-token");
  const token = await tokenOf({ SLUICE_ADMIN_TOKEN_FILE: file });
  assert.match(token ?? "", /^[\w-]{32}$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.equal(readFileSync(file, "utf8"), `${token}\n`);
  assert.equal(await tokenOf({ SLUICE_ADMIN_TOKEN_FILE: file }), token);
});

const [inVariable, inFile] = ["the token of the variable", "the token of the file"];
const FLAG = "--admin-token-file";
const rows: readonly [does: string, env: Record<string, string>, by: string, token: string | null][] = [
  ["a token in a file is used", {}, "SLUICE_ADMIN_TOKEN_FILE", inFile],
  [
    "SLUICE_ADMIN_TOKEN has precedence over a file",
    { SLUICE_ADMIN_TOKEN: inVariable },
    "SLUICE_ADMIN_TOKEN_FILE",
    inVariable,
  ],
  [`${FLAG} has precedence over SLUICE_ADMIN_TOKEN`, { SLUICE_ADMIN_TOKEN: inVariable }, FLAG, inFile],
  ["with SLUICE_ADMIN_ACCESS=anyone, no file is read", { SLUICE_ADMIN_ACCESS: "anyone" }, FLAG, null],
];
for (const [does, env, by, token] of rows) {
  test(does, async (context) => {
    const file = join(folderOf(context), "admin-token");
    writeFileSync(file, `${inFile}\n`);
    assert.equal(await (by === FLAG ? tokenOf(env, { [by]: file }) : tokenOf({ ...env, [by]: file })), token);
  });
}

test("a short token in a file is refused, and so is a file that cannot be created", async (context) => {
  const folder = folderOf(context);
  const file = join(folder, "admin-token");
  writeFileSync(file, "\n");
  const refused = (path: string, message: RegExp) =>
    assert.rejects(tokenOf({ SLUICE_ADMIN_TOKEN_FILE: path }), { name: "SettingsError", message });
  await refused(file, /^SLUICE_ADMIN_TOKEN_FILE: the token in .* is shorter than 16 characters: .* delete the file/);
  await refused(join(folder, "missing/token"), /cannot be created \(ENOENT.*or set SLUICE_ADMIN_TOKEN$/);
});
