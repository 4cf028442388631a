/** Logs of the processes: everything in one file per process, and warnings and errors on the terminal. */
import { createWriteStream } from "node:fs";
import { join } from "node:path";

/** pino's number for a warning. */
const WARNING = 40;

/** Members of a log line that are not listed in parentheses after its message on the terminal. */
const bookkeeping = new Set(["level", "time", "pid", "hostname", "name", "msg", "err"]);

/**
 * The text of a line for the terminal. A warning or an error becomes its message, with further members in parentheses.
 * A line that pino did not write is returned unchanged. Undefined: the line is not shown.
 */
export function shownLine(line: string): string | undefined {
  if (line.trim() === "") return undefined;
  let entry: Record<string, unknown> | null;
  try {
    entry = JSON.parse(line);
  } catch {
    return line;
  }
  if (typeof entry?.level !== "number") return line;
  if (entry.level < WARNING) return undefined;
  const cause = (entry.err as { message?: unknown } | undefined)?.message;
  const facts = Object.entries({ ...entry, ...(cause === undefined ? {} : { cause }) })
    .filter(([name]) => !bookkeeping.has(name))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [entry.msg, ...(facts.length > 0 ? [`(${facts.join(", ")})`] : [])].join(" ");
}

/**
 * Returns a function that receives chunks of a process's output. It writes all of them to `<folder>/<part>.log`, and
 * calls `show` for each line of which `shownLine` returns a text.
 */
export function createPartLog(part: string, { folder, show }: LogOptions): (piece: string) => void {
  const file = createWriteStream(join(folder, `${part}.log`));
  let rest = "";
  return (piece) => {
    file.write(piece);
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const words = shownLine(line);
      if (words !== undefined) show(`${part}: ${words}`);
    }
  };
}

interface LogOptions {
  readonly folder: string;
  readonly show: (line: string) => void;
}
