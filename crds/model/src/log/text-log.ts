/** Log lines as JSON for programs, or as text for people. */
import { isatty } from "node:tty";
import type { Declaration } from "../settings/declaration.ts";

export const logFormat = {
  variable: "SLUICE_LOG_FORMAT",
  kind: "choice",
  words: ["auto", "json", "text"],
  default: "auto",
  description:
    "Format of log lines: `json`, `text` (time, level, message, and further members as key=value), or `auto`: text " +
    "if the log is written to a terminal, else JSON. The access log is always JSON.",
} as const satisfies Declaration;

export type LogFormat = (typeof logFormat)["words"][number];

/** @param descriptor The file descriptor that the log is written to. */
export const isTextLog = (format: LogFormat, descriptor: number): boolean =>
  format === "text" || (format === "auto" && isatty(descriptor));

/** A destination for pino that writes each line as text to another destination. */
export const textLogTo = (destination: { write(text: string): unknown }) => ({
  write: (line: string) => void destination.write(textLogLine(line)),
});

/** The names of pino's levels. */
const levelNames: Readonly<Record<number, string>> = {
  10: "TRACE",
  20: "DEBUG",
  30: "INFO",
  40: "WARN",
  50: "ERROR",
  60: "FATAL",
};

interface LogEntry extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
}

/**
 * The text of a line that pino wrote, including the last line break. The stack of an error follows on lines of its own.
 * The process id, host and program name are left out. Control characters, which a client may have sent, are escaped: a
 * terminal would execute them.
 */
function textLogLine(line: string): string {
  const {
    level,
    time,
    msg = "",
    pid: _pid,
    hostname: _host,
    name: _name,
    err,
    ...facts
  } = JSON.parse(line) as LogEntry;
  const { message, stack }: { readonly message?: unknown; readonly stack?: unknown } = Object(err);
  const all = message === undefined || message === msg ? facts : { ...facts, err: message };
  const members = Object.entries(all).map(([key, value]) => `${key}=${memberText(value)}`);
  const first = [time, (levelNames[level] ?? String(level)).padEnd(5), escaped(msg), ...members].join(" ");
  const frames = typeof stack === "string" ? stack.split("\n").map((frame) => `    ${escaped(frame)}\n`) : [];
  return `${first.trimEnd()}\n${frames.join("")}`;
}

/** Text without spaces, quotes and control characters is not quoted. */
function memberText(value: unknown): string {
  const text = typeof value === "string" && /^[^\s"=\p{Cc}]+$/u.test(value) ? value : JSON.stringify(value);
  return escaped(text);
}

const escaped = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
