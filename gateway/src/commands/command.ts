/** The interface of a `sluice` command. */
import {
  type Checked,
  type CommandArguments,
  type Declarations,
  type GivenArguments,
  readSettings,
  type SettingsOf,
} from "@sluice/model/serving";
import type { Logger } from "pino";

/** A started command that runs until it is stopped. */
export interface Running {
  close(): Promise<void>;
  /** The action on SIGHUP. Null or absent: no action; SIGHUP ends the process. */
  readonly reopenLogs?: (() => void) | null;
}

export interface CommandCall<Values> {
  readonly settings: Values;
  readonly given: GivenArguments;
  readonly log: Logger;
  /** Writes to standard output, unchanged. */
  readonly print: (text: string) => void;
}

type Values = Readonly<Record<string, unknown>>;

/** A command, independent of the type of its settings. */
export interface Command {
  /** `--help` prints this text before the settings. It ends with a newline. */
  readonly usage: string;
  /** The arguments allowed after the command's name. */
  readonly arguments: CommandArguments;
  readonly declarations: Declarations;
  /** True for a command that finishes by itself: its log is then written to standard error. */
  readonly ends: boolean;
  readonly settings: (env: Readonly<Record<string, string | undefined>>) => Checked<Values & { logLevel: string }>;
  /** Resolves to a running command, or to the exit code; undefined means 0. */
  readonly run: (call: CommandCall<Values>) => Promise<Running | number | undefined>;
}

interface Description<Declared extends Declarations> {
  readonly usage: string;
  /** Default: none. */
  readonly arguments?: CommandArguments;
  readonly settings: Declared;
  readonly ends?: boolean;
  /** @throws CommandError, or SettingsError, for errors that the user can fix. */
  readonly run: (call: CommandCall<SettingsOf<Declared>>) => Promise<Running | number | undefined>;
}

/** `settings` must have a `logLevel`. */
export function defineCommand<const Declared extends Declarations>(description: Description<Declared>): Command {
  const { usage, arguments: declared = {}, settings, ends = false, run } = description;
  return {
    usage,
    arguments: declared,
    declarations: settings,
    ends,
    settings: (env) => readSettings(settings, env) as Checked<Values & { logLevel: string }>,
    run: (call) => run(call as unknown as CommandCall<SettingsOf<Declared>>),
  };
}

/** The command failed for a reason that the user can fix. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  /** Each error with its position, in the format that editors parse. */
  readonly faults: readonly string[];

  constructor(message: string, faults: readonly string[] = []) {
    super(message);
    this.faults = faults;
  }
}

/** The command's arguments contradict each other; the message gives the reason. */
export class Misused extends Error {
  override readonly name = "Misused";
}
