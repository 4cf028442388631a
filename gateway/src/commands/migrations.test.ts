import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readSettings } from "@sluice/model";
import { parseCommandLine } from "@sluice/model/command-line";
import { type Postgres, startPostgres } from "../../../tools/programs/servers/postgres.ts";
import type { Migration } from "../database/migrations/index.ts";
import { migrationsSettings } from "../settings/commands/migrations.ts";
import { sluice } from "./definitions/index.ts";
import { runMigrations } from "./migrations.ts";

let folder: string;
let server: Postgres;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "sluice-migrations-"));
  server = await startPostgres();
});
after(async () => {
  rmSync(folder, { recursive: true });
  await server?.stop();
});

/** The settings for the Postgres server, with which a command takes less time than with the embedded database. */
function onServer(): Readonly<Record<string, string>> {
  const { port, username, password, pathname } = new URL(server.url);
  return {
    SLUICE_DATABASE: "postgres",
    SLUICE_PG_PORT: port,
    SLUICE_PG_USER: username,
    SLUICE_PG_PASSWORD: password,
    SLUICE_PG_DATABASE: pathname.slice(1),
  };
}

const old: Migration = { name: "000_old", up: "create table old (a int)" };
const change: Migration = { name: "001_new", up: "alter table old add b int", finish: "alter table old drop a" };

interface More {
  readonly migrations?: readonly Migration[];
  readonly answer?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command. Resolves to the exit code and the output: `list` -> `3 | database needs bootstrapping; ...`. */
async function run(line: string, { migrations = [old], answer, env = onServer() }: More = {}): Promise<string> {
  const printed: string[] = [];
  const parsed = await parseCommandLine(sluice, ["migrations", ...line.split(" ")], { version: "0.0.0" });
  assert.ok(parsed.kind === "given", line);
  const settings = readSettings(migrationsSettings, { SLUICE_DATABASE_DIR: join(folder, "database"), ...env });
  if (settings.violations)
    return [1, ...settings.violations.map(({ path, message }) => `${path[0]}: ${message}`)].join(" | ");
  const code = await runMigrations({
    given: parsed.given,
    settings: settings.value,
    print: (text) => printed.push(text),
    printFault: (text) => printed.push(text),
    ...(answer !== undefined && { ask: async () => answer }),
    migrations,
  });
  return [code, ...printed].join(" | ");
}

const both = { migrations: [old, change] };
const needs = "database needs bootstrapping; run 'sluice migrations bootstrap'";

test("'sluice migrations' bootstraps, upgrades and resets a database, with Kong's messages and exit codes", async () => {
  const steps: readonly (readonly [line: string, answer: string, more?: More])[] = [
    ["list", `3 | ${needs}`],
    [
      "status",
      '0 | {"needs_bootstrap":true,"executed_migrations":[],"pending_migrations":[],"new_migrations":["000_old"]}',
    ],
    ["up", `1 | ${needs}`],
    ["finish", `1 | ${needs}`],
    ["reset --yes", "1 | database not bootstrapped, nothing to reset"],
    ["bootstrap", "0 | database bootstrapped: 000_old"],
    ["bootstrap", "0 | database already bootstrapped"],
    ["list", "0 | executed migrations: 000_old"],
    ["up", "0 | database is already up-to-date"],
    ["finish", "0 | no pending migrations to finish"],
    [
      "list",
      "5 | executed migrations: 000_old | new migrations available: 001_new | run 'sluice migrations up' to proceed",
      both,
    ],
    ["up", "0 | migrated: 001_new | database has pending migrations; run 'sluice migrations finish' when ready", both],
    [
      "list",
      "4 | executed migrations: 000_old | pending migrations: 001_new | run 'sluice migrations finish' when ready",
      both,
    ],
    ["up", "1 | database has pending migrations; run 'sluice migrations finish'", both],
    ["finish -q", "0", both],
    ["list", "0 | executed migrations: 000_old, 001_new", both],
    ["reset", "1 | cannot ask without a terminal: confirm 'reset' with --yes"],
    ["reset", "0 | cancelled", { answer: "no" }],
    ["reset", "0 | database successfully reset", { answer: "y" }],
    ["list", `3 | ${needs}`],
  ];
  for (const [line, expected, more] of steps) assert.equal(await run(line, more), expected, line);
});

test("the embedded database is created by the first command, and keeps its tables for the next command", async () => {
  const env = { SLUICE_DATABASE: "embedded" };
  assert.equal(await run("bootstrap", { env }), "0 | database bootstrapped: 000_old");
  assert.equal(await run("list", { env }), "0 | executed migrations: 000_old");
});

test("unusable settings and databases are reported in one line", async () => {
  const table: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{ SLUICE_DATABASE: "oracle" }, /^1 \| SLUICE_DATABASE: expected one of: embedded, postgres, not 'oracle'$/],
    [{ SLUICE_PG_SCHEMA: 'x"; drop' }, /^1 \| SLUICE_PG_SCHEMA: expected lower-case letters, digits and _, not/],
    [
      { SLUICE_DATABASE: "postgres", SLUICE_PG_PORT: "1" },
      /^1 \| the database at 127.0.0.1:1 does not answer: .*ECONN/,
    ],
  ];
  for (const [env, expected] of table) assert.match(await run("list", { env }), expected);
});
