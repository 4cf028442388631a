#!/usr/bin/env node
/** The program `sluice-user-api`: reads its arguments and settings, and runs the command that the arguments name. */
import { readFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { parseArgs } from "node:util";
import type { Logger } from "pino";
import manifest from "../package.json" with { type: "json" };
import { messageOf, StartFailure } from "./commands/start-failure.ts";
import { didYouMean } from "./setting-readers.ts";
import { readSettings, type Settings, variableNames } from "./settings.ts";

const USAGE = `usage: sluice-user-api [COMMAND]

  serve           serves until SIGTERM or SIGINT (the default command)
  migrate [seconds]
                  creates or migrates the tables of the database; waits up to this many seconds (default 0) for a
                  server that is not reachable yet
  seed [users]    creates demo users with posts (default 10); existing users are kept

  --help, --version

Settings are environment variables; an empty one counts as unset. user-api/README.md describes them:

${variableNames()
  .map((name) => `  ${name}\n`)
  .join("")}`;

type Run = (settings: Settings, log: Logger, count: number) => Promise<void>;

interface Command {
  /** Each command loads its own modules: help, a version or a refused argument needs none of them. */
  readonly load: () => Promise<Run>;
  /** The numeric argument of the command: its unit, its default and its maximum number of digits. */
  readonly count?: { readonly unit: string; readonly standard: number; readonly digits: number };
}

const commands: ReadonlyMap<string, Command> = new Map([
  ["serve", { load: async () => (await import("./commands/serve.ts")).serve }],
  [
    "migrate",
    {
      load: async () => (await import("./commands/migrate.ts")).migrate,
      count: { unit: "seconds", standard: 0, digits: 4 },
    },
  ],
  [
    "seed",
    {
      load: async () => (await import("./commands/seed.ts")).seed,
      count: { unit: "users", standard: 10, digits: 6 },
    },
  ],
]);

/** The command that the arguments name, with its numeric argument (`given`), or a message about invalid arguments. */
function commandOf([name = "serve", first, second]: readonly string[]):
  | (Command & { readonly name: string; readonly given: number })
  | string {
  const command = commands.get(name);
  if (command === undefined)
    return `unknown command '${name}'${didYouMean(name, [...commands.keys(), "help", "version"])}`;
  const { count } = command;
  const extra = count === undefined ? first : second;
  if (extra !== undefined) return `unexpected argument '${extra}'`;
  if (count === undefined || first === undefined) return { ...command, name, given: count?.standard ?? 0 };
  if (!/^\d+$/.test(first) || first.length > count.digits)
    return `'${first}' is not a number of ${count.unit} with at most ${count.digits} digits`;
  return { ...command, name, given: Number(first) };
}

const options = { help: { type: "boolean", short: "h" }, version: { type: "boolean" } } as const;

function refuse(message: string): void {
  process.stderr.write(`sluice-user-api: ${message}\nTry 'sluice-user-api --help'.\n`);
  process.exitCode = 2;
}

/**
 * Trusts the certificate authorities in a PEM file for Redis and Postgres, in addition to those of Node.
 *
 * @throws StartFailure when the file cannot be read, holds no certificate, or holds an invalid one.
 */
async function trustCertificates(file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new StartFailure(`cannot read the file of SLUICE_USER_API_TRUSTED_CERTIFICATES: ${messageOf(error)}`);
  });
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0)
    throw new StartFailure(`the file of SLUICE_USER_API_TRUSTED_CERTIFICATES holds no PEM certificate`);
  try {
    setDefaultCACertificates([...getCACertificates("default"), ...blocks]);
  } catch (error) {
    throw new StartFailure(
      `the file of SLUICE_USER_API_TRUSTED_CERTIFICATES holds a certificate that cannot be read: ${messageOf(error)}`,
    );
  }
}

async function main(args: readonly string[]): Promise<void> {
  const { tokens, positionals } = parseArgs({ args: [...args], options, strict: false, tokens: true });
  const given = tokens.filter((token) => token.kind === "option");
  const unknown = given.find(({ name }) => !Object.hasOwn(options, name));
  if (unknown)
    return refuse(`unknown option '${unknown.rawName}'${didYouMean(unknown.rawName, ["--help", "--version"])}`);
  if (positionals[0] === "help" || given.some(({ name }) => name === "help")) return void process.stdout.write(USAGE);
  if (positionals[0] === "version" || given.length > 0) return void process.stdout.write(`${manifest.version}\n`);
  const command = commandOf(positionals);
  if (typeof command === "string") return refuse(command);
  const read = readSettings(process.env, { serves: command.name === "serve" });
  // The log loads Fastify, which the answers above do not need.
  const { changeLevelOnSignal, makeLog } = await import("./operations/log.ts");
  if ("violations" in read) {
    const log = makeLog({ level: "info" });
    for (const violation of read.violations) log.fatal(violation);
    process.exitCode = 1;
    return;
  }
  const log = makeLog({ level: read.settings.logLevel, format: read.settings.logFormat });
  changeLevelOnSignal(log);
  for (const warning of read.warnings) log.warn(warning);
  try {
    const { trustedCertificates } = read.settings;
    if (trustedCertificates !== undefined) await trustCertificates(trustedCertificates);
    const run = await command.load();
    await run(read.settings, log, command.given);
  } catch (error) {
    if (error instanceof StartFailure) log.fatal(error.message);
    else log.fatal({ err: error }, "could not start");
    process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
