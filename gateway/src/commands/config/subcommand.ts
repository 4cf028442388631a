/** Code that the subcommands of `sluice config` share. */
import { readFile, writeFile } from "node:fs/promises";
import { describeViolation, describeWarnings, type LoadedText, type LoadOptions, loadText } from "@sluice/model";
import { type AdminSettings, adminSettings } from "../../settings/commands/admin.ts";
import type { ConfigSettings } from "../../settings/commands/config.ts";
import { defaultsOf } from "../../settings/defaults.ts";
import { type CommandCall, CommandError } from "../command.ts";

export type ConfigCall = CommandCall<ConfigSettings>;

export type ConfigSubcommand = (call: ConfigCall) => Promise<void>;

/** The settings that open a store; settings that only the admin listener reads keep their defaults. */
export const storeSettings = (settings: ConfigSettings): AdminSettings => ({
  ...defaultsOf(adminSettings),
  ...settings,
});

interface ReadDeclarativeOptions extends Pick<LoadOptions, "database"> {
  readonly warn: (sentence: string) => void;
}

/** Reads a declarative file. @throws CommandError with every error and its position. */
export async function readDeclarative(file: string, { warn, ...options }: ReadDeclarativeOptions): Promise<LoadedText> {
  const text = await readFile(file, "utf8");
  const { value: loaded, violations = [] } = loadText(text, { ...options, file });
  if (!loaded) {
    const count = violations.length === 1 ? "1 error" : `${violations.length} errors`;
    throw new CommandError(`${file} has ${count}:`, violations.map(describeViolation));
  }
  for (const sentence of describeWarnings(loaded.warnings)) warn(sentence);
  return loaded;
}

/**
 * Writes a new file. An existing file is never overwritten.
 *
 * @param mode Mode of the file. Default: readable by the owner only, because the file may contain keys.
 */
export async function writeNew(file: string, text: string, mode = 0o600): Promise<void> {
  try {
    await writeFile(file, text, { flag: "wx", mode });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "EEXIST") throw error;
    throw new CommandError(`${file} already exists and is not overwritten: choose another name, or move it`);
  }
}
