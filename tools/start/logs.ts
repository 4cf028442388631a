/** Logs of the parts: whole in a file each, and what a person should see on the terminal. */
import { createWriteStream } from "node:fs";
import { join } from "node:path";

/** pino's number for a warning. */
const WARNING = 40;

/** Members of a log line that say nothing to a person at the terminal. */
const bookkeeping = new Set(["level", "time", "pid", "hostname", "name", "msg", "err"]);

/**
 * What a line of a part's log says to a person at the terminal: warnings and errors in one sentence with their facts,
 * and what is no log line at all. Undefined: nothing.
 */
export function wordsOf(line: string): string | undefined {
  if (line.trim() === "") return undefined;
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line);
  } catch {
    return line;
  }
  if (typeof entry !== "object" || typeof entry.level !== "number") return line;
  if (entry.level < WARNING) return undefined;
  const cause = (entry.err as { message?: unknown } | undefined)?.message;
  const facts = Object.entries({ ...entry, ...(cause === undefined ? {} : { cause }) })
    .filter(([name]) => !bookkeeping.has(name))
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return [entry.msg, ...(facts.length > 0 ? [`(${facts.join(", ")})`] : [])].join(" ");
}

/** Takes pieces of a part's output: all of it goes into `<folder>/<part>.log`, what is worth a look to `show`. */
export function createLog(part: string, { folder, show }: LogOptions): (piece: string) => void {
  const file = createWriteStream(join(folder, `${part}.log`));
  let rest = "";
  return (piece) => {
    file.write(piece);
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const words = wordsOf(line);
      if (words !== undefined) show(`${part}: ${words}`);
    }
  };
}

export interface LogOptions {
  readonly folder: string;
  readonly show: (line: string) => void;
}
