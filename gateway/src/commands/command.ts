/** The interface of a `sluice` command. */
import type { GivenArguments } from "@sluice/model/command-line";
import type { Declarations, LoadedSettings, SettingsOf, TemporaryLogLevel } from "@sluice/model/serving";
import type { Logger } from "pino";
import type { Progress } from "./terminal/progress.ts";

export interface RunningCommand {
  close(): Promise<void>;
  /**
   * SIGHUP calls this function and `reloadPlugins`; null or absent: the command has no such function. If it has neither
   * of them, SIGHUP ends the process.
   */
  readonly reopenLogs?: (() => void) | null;
  readonly reloadPlugins?: (() => Promise<void>) | null;
}

export interface CommandCall<Values> {
  readonly settings: Values;
  /** The settings with the sources of their values. */
  readonly loadedSettings: LoadedSettings;
  readonly given: GivenArguments;
  readonly log: Logger;
  readonly logLevel: TemporaryLogLevel;
  readonly print: (text: string) => void;
  /** Shown on a terminal, unless the output is for programs. */
  readonly progress: Progress;
}

export interface Command<Declared extends Declarations = Declarations> {
  /** Includes `logLevel` and `logFormat`, unless the command writes no log. */
  readonly settings: Declared;
  /** Whether the command runs even if settings are invalid, because it reports the errors itself. */
  readonly reportsSettings?: boolean;
  /** The exit code for a failure. Default: 1. */
  readonly failureCode?: number;
  /** True for a command that finishes by itself; its log is written to standard error. */
  readonly ends?: boolean;
  /**
   * Resolves to a running command, or to the exit code; undefined means 0.
   *
   * @throws CommandError or SettingsError for errors that the user can fix; UsageError for invalid arguments.
   */
  run(call: CommandCall<SettingsOf<Declared>>): Promise<RunningCommand | number | undefined>;
}

/** A command independent of the type of its settings. */
export const defineCommand = <const Declared extends Declarations>(command: Command<Declared>): Command =>
  command as unknown as Command;

/** The command failed for a reason that the user can fix. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** Each error with its position, in the format that editors parse. */
  readonly faults: readonly string[];
  /** Undefined: the command's code for a failure. */
  readonly exitCode: number | undefined;

  constructor(message: string, faults: readonly string[] = [], exitCode?: number) {
    super(message);
    this.faults = faults;
    this.exitCode = exitCode;
  }
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}
