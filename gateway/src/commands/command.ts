/** What a command of `sluice` is. */
import {
  type Checked,
  type CommandArguments,
  type Declarations,
  type GivenArguments,
  readSettings,
  type Settings,
} from "@sluice/model/serving";
import type { Logger } from "pino";

/** Something that goes on until it is told to stop. */
export interface Running {
  close(): Promise<void>;
  /** What SIGHUP asks for; null or absent: nothing, it ends the process. */
  readonly reopenLogs?: (() => void) | null;
}

export interface Call<Values> {
  readonly settings: Values;
  readonly given: GivenArguments;
  readonly log: Logger;
  /** Writes to the standard output, as it is. */
  readonly print: (text: string) => void;
}

type Values = Readonly<Record<string, unknown>>;

/** A command whatever its settings are. */
export interface Command {
  /** What `--help` prints before the settings; ends with a newline. */
  readonly usage: string;
  /** What may follow the command's name. */
  readonly arguments: CommandArguments;
  readonly declarations: Declarations;
  /** Whether it does its work and ends: its log goes to the standard error then. */
  readonly ends: boolean;
  readonly settings: (env: Readonly<Record<string, string | undefined>>) => Checked<Values & { logLevel: string }>;
  /** What goes on, or the exit code; undefined is 0. */
  readonly run: (call: Call<Values>) => Promise<Running | number | undefined>;
}

interface Description<Declared extends Declarations> {
  readonly usage: string;
  /** Default: none. */
  readonly arguments?: CommandArguments;
  readonly settings: Declared;
  readonly ends?: boolean;
  /** @throws Refused, or SettingsError, for what the caller can mend. */
  readonly run: (call: Call<Settings<Declared>>) => Promise<Running | number | undefined>;
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
    run: (call) => run(call as unknown as Call<Settings<Declared>>),
  };
}

/** The command did not do what it was told, for a reason that the caller can mend. */
export class Refused extends Error {
  override readonly name = "Refused";
  /** Each with the place where it stands, as editors read it. */
  readonly faults: readonly string[];

  constructor(message: string, faults: readonly string[] = []) {
    super(message);
    this.faults = faults;
  }
}

/** The command's arguments have no meaning together; the message says why. */
export class Misused extends Error {
  override readonly name = "Misused";
}
