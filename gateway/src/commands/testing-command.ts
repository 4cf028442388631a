/** Runs command lines of `sluice` in the process of a test. */
import { parseCommandLine } from "@sluice/model/command-line";
import { loadSettings, TemporaryLogLevel } from "@sluice/model/serving";
import { pino } from "pino";
import { UsageError } from "./command.ts";
import { sluice } from "./definitions/index.ts";

export interface CommandRun {
  readonly code: number;
  readonly printed: string;
  /** The messages of the log. */
  readonly warnings: readonly string[];
  /** The texts of the progress. */
  readonly progress: readonly string[];
}

/**
 * Runs a command that ends by itself. Its output is captured, and its settings come from `args` and `env` only.
 *
 * @throws UsageError with the first line of the message for invalid arguments and settings; the errors of the command.
 */
export async function runCommandLine(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandRun> {
  const parsed = await parseCommandLine(sluice, args, { version: "0.0.0" });
  if (parsed.kind === "answered") return { code: 0, printed: parsed.text, warnings: [], progress: [] };
  if (parsed.kind === "refused") throw new UsageError(/^(?:sluice[^:\n]*: )?(.*)/.exec(parsed.text)?.[1]);
  const { loaded: command, given, flags } = parsed;
  const loadedSettings = await loadSettings(command.settings, { env, flags });
  const { values: settings, violations } = loadedSettings;
  if (violations.length > 0 && !command.reportsSettings)
    throw new UsageError(violations.map(({ path, message }) => `${path[0]}: ${message}`).join("\n"));
  let printed = "";
  const print = (text: string) => {
    printed += text;
  };
  const warnings: string[] = [];
  const log = pino({ level: "warn" }, { write: (line: string) => void warnings.push(JSON.parse(line).msg) });
  const logLevel = new TemporaryLogLevel(log);
  const shown: string[] = [];
  const progress = { show: (text: string) => void shown.push(text), clear() {} };
  const code = await command.run({ settings, loadedSettings, given, log, logLevel, print, progress });
  if (typeof code === "object") throw new TypeError(`${parsed.name} keeps running`);
  return { code: code ?? 0, printed, warnings, progress: shown };
}
