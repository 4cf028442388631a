/** `sluice migrations`: creates, changes and drops the tables, with Kong's subcommands, wording and exit codes. */
import type { GivenArguments } from "@sluice/model/command-line";
import { SettingsError } from "@sluice/model/serving";
import { type Database, DatabaseFault, DatabaseUnreachable } from "../database/driver.ts";
import {
  bootstrapTables,
  finishUpgrade,
  type MigrationResult,
  type MigrationState,
  readMigrationState,
  resetTables,
  upgradeTables,
} from "../database/migrate.ts";
import type { Migration } from "../database/migrations/index.ts";
import { openDatabase } from "../database/open.ts";
import { migrationsSettings } from "../settings/commands/migrations.ts";
import type { DatabaseSettings } from "../settings/database.ts";
import { askOnTerminal, isYes } from "./ask.ts";
import { defineCommand } from "./command.ts";

export interface MigrationsCommand {
  readonly given: GivenArguments;
  readonly settings: DatabaseSettings;
  readonly print: (line: string) => void;
  readonly printFault: (line: string) => void;
  /** Asks the user a question, and resolves to the answer. Undefined when there is no terminal. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
  /** Replaces the migrations of this version, for tests. */
  readonly migrations?: readonly Migration[];
}

/**
 * Milliseconds for one statement. Some statements rewrite a table, and the statement that takes the lock waits until
 * the migrations of a concurrent process have ended.
 */
const TIMEOUT = 60_000;

type Run = (command: MigrationsCommand, database: Database, yes: boolean) => Promise<number>;

type CommandName = "bootstrap" | "up" | "finish" | "list" | "status" | "reset";

interface MigrationStep {
  readonly run: (database: Database, migrations?: readonly Migration[]) => Promise<MigrationResult>;
  readonly none: string;
  readonly done: string;
  /** The message is printed if migrations of the kind `which` remain. */
  readonly left?: { readonly which: "pending" | "available"; readonly message: string };
}

const NEEDS_BOOTSTRAP = "database needs bootstrapping; run 'sluice migrations bootstrap'";
const PENDING = "database has pending migrations; run 'sluice migrations finish'";

const stepOf =
  ({ run, none, done, left }: MigrationStep): Run =>
  async ({ print, printFault, migrations }, database) => {
    const { fault, ran, state } = await run(database, migrations);
    if (fault !== undefined) {
      printFault(fault === "pending" ? PENDING : NEEDS_BOOTSTRAP);
      return 1;
    }
    print(ran.length === 0 ? none : `${done}: ${ran.join(", ")}`);
    if (left && state[left.which].length > 0) print(left.message);
    return 0;
  };

const commands: Readonly<Record<CommandName, Run>> = {
  bootstrap: stepOf({ run: bootstrapTables, none: "database already bootstrapped", done: "database bootstrapped" }),

  up: stepOf({
    run: upgradeTables,
    none: "database is already up-to-date",
    done: "migrated",
    left: { which: "pending", message: `${PENDING} when ready` },
  }),

  finish: stepOf({
    run: finishUpgrade,
    none: "no pending migrations to finish",
    done: "finished",
    left: { which: "available", message: "new migrations available; run 'sluice migrations up' to proceed" },
  }),

  async list({ print, migrations }, database) {
    const state = await readMigrationState(database, migrations);
    const code = exitCodeOf(state);
    if (state.needsBootstrap) {
      print(NEEDS_BOOTSTRAP);
      return code;
    }
    for (const [title, names] of [
      ["executed migrations", state.executed],
      ["pending migrations", state.pending],
      ["new migrations available", state.available],
    ] as const)
      if (names.length > 0) print(`${title}: ${names.join(", ")}`);
    if (state.pending.length > 0) print("run 'sluice migrations finish' when ready");
    else if (state.available.length > 0) print("run 'sluice migrations up' to proceed");
    return code;
  },

  async status({ print, migrations }, database) {
    const state = await readMigrationState(database, migrations);
    const shown = {
      needs_bootstrap: state.needsBootstrap,
      executed_migrations: state.executed,
      pending_migrations: state.pending,
      new_migrations: state.available,
    };
    print(JSON.stringify(shown));
    return 0;
  },

  async reset({ print, printFault, ask }, database, yes) {
    if (!yes) {
      if (!ask) {
        printFault("cannot ask without a terminal: confirm 'reset' with --yes");
        return 1;
      }
      const answer = await ask("everything in the database will be lost. Reset it? [y/N] ");
      if (!isYes(answer)) {
        print("cancelled");
        return 0;
      }
    }
    const done = await resetTables(database);
    print(done ? "database successfully reset" : "database not bootstrapped, nothing to reset");
    return done ? 0 : 1;
  },
};

function exitCodeOf({ needsBootstrap, pending, available }: MigrationState): number {
  if (needsBootstrap) return 3;
  if (pending.length > 0) return 4;
  return available.length > 0 ? 5 : 0;
}

/** Resolves to the exit code. */
export async function runMigrations(command: MigrationsCommand): Promise<number> {
  const { settings, printFault, given } = command;
  const { yes = false, quiet = false } = given.options;
  const run = commands[given.subcommands[1] as CommandName];
  try {
    const database = await openDatabase(settings, { timeout: TIMEOUT });
    try {
      return await run(quiet ? { ...command, print: () => undefined } : command, database, yes === true);
    } finally {
      await database.close();
    }
  } catch (error) {
    if (!isExpected(error)) throw error;
    printFault(error.message);
    return 1;
  }
}

const isExpected = (error: unknown): error is Error =>
  error instanceof SettingsError || error instanceof DatabaseUnreachable || error instanceof DatabaseFault;

export const migrationsCommand = defineCommand({
  settings: migrationsSettings,
  ends: true,
  run: ({ given, settings, print }) =>
    runMigrations({
      given,
      settings,
      print: (line) => print(`${line}\n`),
      printFault: (line) => void process.stderr.write(`${line}\n`),
      ask: process.stdin.isTTY ? askOnTerminal : undefined,
    }),
});
