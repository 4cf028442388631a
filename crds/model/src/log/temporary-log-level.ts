/** Changes the level of a process's log while the process runs. */

/** The levels that settings and the admin API accept, the most verbose one first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** Maximum seconds of a change: a verbose level that was left on must not fill a disk. */
export const MAX_LOG_LEVEL_SECONDS = 86_400;

/** Seconds for which the signal SIGUSR2 sets the level to debug. */
const SIGNAL_SECONDS = 600;

export interface LogLevelChange {
  readonly level: LogLevel;
  /** After this time the level of the settings applies again; 0: at once. */
  readonly seconds: number;
}

/** The change in a body; null: it is not valid. */
export function readLogLevelChange(value: unknown): LogLevelChange | null {
  const { level, seconds }: { readonly level?: unknown; readonly seconds?: unknown } = Object(value);
  const known = logLevels.find((one) => one === level);
  if (known === undefined || !Number.isInteger(seconds)) return null;
  const time = Number(seconds);
  return time >= 0 && time <= MAX_LOG_LEVEL_SECONDS ? { level: known, seconds: time } : null;
}

interface ChangeableLog {
  level: string;
  info(facts: object, message: string): void;
}

/** The level of a log, with a change that ends by itself. */
export class TemporaryLogLevel {
  readonly #log: ChangeableLog;
  readonly #configured: string;
  #timer: NodeJS.Timeout | undefined;
  #onChange: (level: string) => void = () => undefined;

  /** @param log A logger of pino. */
  constructor(log: ChangeableLog) {
    this.#log = log;
    this.#configured = log.level;
  }

  get level(): string {
    return this.#log.level;
  }

  /** Whether the level differs from the settings' level. */
  get isChanged(): boolean {
    return this.#timer !== undefined;
  }

  /** @param onChange Called with the level after each change; a further call replaces the function. */
  onLevelChange(onChange: (level: string) => void): void {
    this.#onChange = onChange;
  }

  /** Replaces an earlier change. */
  change({ level, seconds }: LogLevelChange): void {
    clearTimeout(this.#timer);
    this.#timer = seconds === 0 ? undefined : setTimeout(() => this.restore(), seconds * 1000).unref();
    this.#set(seconds === 0 ? this.#configured : level, seconds);
  }

  restore(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#set(this.#configured, 0);
  }

  /** Sets the level to debug for ten minutes; if the level is already changed, restores the settings' level. */
  toggleDebug = (): void => {
    if (this.isChanged) this.restore();
    else this.change({ level: "debug", seconds: SIGNAL_SECONDS });
  };

  #set(level: string, seconds: number): void {
    // Logged before the level changes, because the level of the settings may suppress the line.
    if (seconds === 0) this.#log.info({ now: level }, "the log level of the settings was restored");
    this.#log.level = level;
    if (seconds > 0) this.#log.info({ now: level, seconds }, "the log level was changed");
    this.#onChange(level);
  }
}
