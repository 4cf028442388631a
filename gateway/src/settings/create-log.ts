/** The log of a process, or of a worker thread. */
import { hostname } from "node:os";
import { textLogTo } from "@sluice/model/serving";
import { type Logger, pino } from "pino";

interface LogOptions {
  readonly level: string;
  /** Members of every line, in addition to the process id and the host name. */
  readonly base: Readonly<Record<string, unknown>>;
  /** See `isTextLog` of the model. */
  readonly isText: boolean;
  /** The file descriptor that lines are written to: 1 or 2. Lines to standard error are written synchronously. */
  readonly descriptor: number;
}

export function createLog({ level, base, isText, descriptor }: LogOptions): Logger {
  // Text goes to a terminal, where its order among other output matters more than speed.
  const destination = pino.destination({ dest: descriptor, sync: isText || descriptor === 2 });
  const options = {
    level,
    base: { pid: process.pid, hostname: hostname(), ...base },
    timestamp: pino.stdTimeFunctions.isoTime,
  };
  return pino(options, isText ? textLogTo(destination) : destination);
}
