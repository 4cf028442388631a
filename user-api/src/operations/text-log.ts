/** Log lines as text for a terminal. The gateway's log has the same form; test/conformance/logs compares both. */
import { levels } from "pino";

export const logOutputFormats = ["auto", "json", "text"] as const;
/** `auto`: text if standard output is a terminal, else JSON. */
export type LogOutputFormat = (typeof logOutputFormats)[number];

/** A destination for pino that writes each line as text to another destination. */
export const plainTextLogTo = (destination: { write(text: string): unknown }) => ({
  write: (line: string) => void destination.write(textOf(line)),
});

interface Entry extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly time: string;
  readonly msg?: string;
}

/**
 * Time, level, message and further members; the stack of an error follows on lines of its own. Process id, host and
 * program name are left out.
 */
function textOf(line: string): string {
  const { level, time, msg = "", pid: _pid, hostname: _host, name: _name, err, ...others } = JSON.parse(line) as Entry;
  const { message, stack }: { readonly message?: unknown; readonly stack?: unknown } = Object(err);
  const shown = message === undefined || message === msg ? others : { ...others, err: message };
  const members = Object.entries(shown).map(([key, value]) => `${key}=${valueText(value)}`);
  const levelName = (levels.labels[level] ?? String(level)).toUpperCase().padEnd(5);
  const first = [time, levelName, escapeControls(msg), ...members].join(" ").trimEnd();
  const frames = typeof stack === "string" ? stack.split("\n") : [];
  return `${first}\n${frames.map((frame) => `    ${escapeControls(frame)}\n`).join("")}`;
}

function valueText(value: unknown): string {
  const isPlain = typeof value === "string" && /^[^\s"=\p{Cc}]+$/u.test(value);
  return escapeControls(isPlain ? value : JSON.stringify(value));
}

/** A terminal would execute control characters, which a client may have sent. */
const escapeControls = (text: string): string =>
  text.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
