/** Runs a command: reads its settings, opens its log, handles signals and explains failures. */
import type { GivenArguments } from "@sluice/model/command-line";
import {
  type Address,
  type Declarations,
  escapeControlCharacters,
  isTextLog,
  type LogFormat,
  loadSettings,
  SettingsError,
  TemporaryLogLevel,
} from "@sluice/model/serving";
import { type Logger, pino } from "pino";
import { createLog } from "../settings/create-log.ts";
import { StoreUnavailable } from "../stores/store.ts";
import { type Command, CommandError, type RunningCommand, UsageError } from "./command.ts";
import { progressFor } from "./terminal/progress.ts";

type Values = Readonly<Record<string, unknown>>;

export interface Invocation {
  /** The command's name in messages: `sluice start`. */
  readonly name: string;
  readonly given: GivenArguments;
  /** Values of settings by their flags. */
  readonly flags: Readonly<Record<string, string>>;
}

/**
 * Runs a command, and sets the exit code: 1 or the code that the command declares for a failure, 2 for invalid
 * arguments, and otherwise the number that the command returns, if any. A command that keeps running stops at the first
 * SIGTERM or SIGINT.
 */
export async function runCommand(command: Command, { name, given, flags }: Invocation): Promise<void> {
  const progress = progressFor(process.stderr, { ends: command.ends === true, output: given.options.output });
  const print = (text: string) => {
    progress.clear();
    process.stdout.write(text);
  };
  const loadedSettings = await loadSettings(command.settings, { env: process.env, flags });
  const { values: settings, violations } = loadedSettings;
  const fail = (...lines: readonly string[]) => {
    for (const line of lines) process.stderr.write(`sluice: ${line}\n`);
    process.exitCode = command.failureCode ?? 1;
  };
  if (violations.length > 0 && !command.reportsSettings)
    return fail(...violations.map(({ path, message }) => `${path[0]}: ${message}`));
  const { logLevel: level = "warn", logFormat: format = "auto" } = settings as {
    readonly logLevel?: string;
    readonly logFormat?: LogFormat;
  };
  if (command.ends) process.stdout.on("error", endWithReader);
  const descriptor = command.ends ? 2 : 1;
  // Without the setting `logFormat`, the log consists of warnings to the person who runs the command.
  const isForPeople = command.settings.logFormat === undefined && given.options.output !== "json";
  const log = isForPeople
    ? createSentenceLog(level, () => progress.clear())
    : createLog({ base: { name: "sluice" }, level, descriptor, isText: isTextLog(format, descriptor) });
  const logLevel = new TemporaryLogLevel(log);
  // The handler is installed before the start, because SIGUSR2 would otherwise end the process. SIGUSR1 cannot be used,
  // because it starts Node's debugger.
  process.on("SIGUSR2", logLevel.toggleDebug);
  try {
    const running = await command.run({ settings, loadedSettings, given, log, logLevel, print, progress });
    progress.clear();
    if (typeof running === "number") process.exitCode = running;
    else if (running) handleSignals(running, log);
  } catch (error) {
    progress.clear();
    if (error instanceof UsageError) {
      process.stderr.write(`${name}: ${error.message}\nTry '${name} --help'.\n`);
      process.exitCode = 2;
    } else if (error instanceof CommandError) {
      fail(error.message);
      for (const fault of error.faults) process.stderr.write(`${fault}\n`);
      process.exitCode = error.exitCode ?? process.exitCode;
    } else fail(explain(error as SystemError, settings, command.settings));
    // Listeners that have already started would keep the process alive.
    process.exit();
  }
}

/** Writes the message of each entry to standard error, in the form of the errors of commands. */
const createSentenceLog = (level: string, beforeWrite: () => void): Logger =>
  pino(
    { level },
    {
      write(line: string) {
        beforeWrite();
        const { msg } = JSON.parse(line) as { readonly msg: string };
        process.stderr.write(`sluice: ${escapeControlCharacters(msg)}\n`);
      },
    },
  );

/** Ends the command if the reader of its output has ended, as in `sluice logs --follow | head`. */
function endWithReader(error: SystemError): void {
  if (error.code !== "EPIPE") throw error;
  process.exit();
}

function handleSignals(running: RunningCommand, log: Logger): void {
  const stop = async (signal: string) => {
    log.info({ signal }, "draining");
    await running.close();
    log.info({}, "stopped");
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void stop(signal));
  const { reopenLogs, reloadPlugins } = running;
  if (reopenLogs) process.on("SIGHUP", reopenLogs);
  if (reloadPlugins) {
    process.on("SIGHUP", () =>
      reloadPlugins().then(
        () => log.info("the plugins were loaded again"),
        (error: Error) =>
          log.error(
            error instanceof SettingsError ? { faults: error.message } : { err: error },
            "the plugins could not be loaded again: the earlier code stays active",
          ),
      ),
    );
  }
}

interface SystemError extends Error {
  readonly code?: string;
  readonly port?: number;
  readonly path?: string;
}

/** One line that says what to change. An unexpected error is a bug and keeps its stack. */
function explain(error: SystemError, settings: Values, declarations: Declarations): string {
  if (error.code === "EADDRINUSE") {
    const isTaken = (address: unknown) => (address as Partial<Address> | null)?.port === error.port;
    const taken = Object.keys(declarations).find((name) => [settings[name]].flat().some(isTaken));
    const variable = taken === undefined ? "the setting of its address" : declarations[taken]?.variable;
    return `port ${error.port} is in use: stop the process that listens there, or choose another port with ${variable}`;
  }
  if (error.code === "EISDIR" && error.path !== undefined) return `${error.path} is a folder: name a file`;
  const [, missing] = error.message.match(/^Cannot find package '([^']+)'/) ?? [];
  if (error.code === "ERR_MODULE_NOT_FOUND" && missing !== undefined) {
    return `this command needs the package ${missing}, which is not installed: an image contains only the packages of its own command`;
  }
  const expected =
    error instanceof SettingsError ||
    error instanceof StoreUnavailable ||
    error.code === "ENOENT" ||
    error.code === "EACCES";
  return expected ? error.message : (error.stack ?? error.message);
}
