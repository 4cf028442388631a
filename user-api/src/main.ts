#!/usr/bin/env node
/** The command `sluice-user-api`: what it is to do, and its settings. */
import { StartFailure } from "./commands/failure.ts";
import { migrate } from "./commands/migrate.ts";
import { seed } from "./commands/seed.ts";
import { serve } from "./commands/serve.ts";
import { makeLog } from "./operations/log.ts";
import { readSettings, type Settings } from "./settings.ts";

const USAGE = `sluice-user-api [command]

  serve           answers until SIGTERM or SIGINT (what it does without a command)
  migrate [seconds]
                  makes the tables of the database, or brings them up to date; a server that cannot be reached yet is
                  waited for so long, 0 unless told otherwise
  seed [users]    makes demo users with posts, 10 unless told otherwise; those that are there stay

Settings are environment variables that begin with SLUICE_USER_API_; the README has them all.
`;

type Run = (settings: Settings, log: ReturnType<typeof makeLog>) => Promise<void>;

/** What the arguments ask for; null when they are no command. */
function commandOf([name = "serve", ...more]: readonly string[]): {
  readonly run: Run;
  readonly serves: boolean;
} | null {
  if (name === "seed" && more.length <= 1) {
    const [count = "10"] = more;
    const users = /^\d{1,6}$/.test(count) ? Number(count) : null;
    return users === null ? null : { run: (settings, log) => seed(settings, log, { users }), serves: false };
  }
  if (name === "migrate" && more.length <= 1) {
    const [seconds = "0"] = more;
    const patience = /^\d{1,4}$/.test(seconds) ? Number(seconds) : null;
    return patience === null ? null : { run: (settings, log) => migrate(settings, log, { patience }), serves: false };
  }
  if (more.length > 0) return null;
  return name === "serve" ? { run: serve, serves: true } : null;
}

async function main(given: readonly string[]): Promise<void> {
  if (given[0] === "--help" || given[0] === "help") {
    process.stdout.write(USAGE);
    return;
  }
  const command = commandOf(given);
  if (command === null) {
    process.stderr.write(USAGE);
    process.exitCode = 2;
    return;
  }
  const read = readSettings(process.env, command);
  if ("violations" in read) {
    const log = makeLog("info");
    for (const violation of read.violations) log.fatal(violation);
    process.exitCode = 1;
    return;
  }
  const log = makeLog(read.settings.logLevel);
  try {
    await command.run(read.settings, log);
  } catch (error) {
    if (error instanceof StartFailure) log.fatal(error.message);
    else log.fatal({ err: error }, "could not start");
    process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
