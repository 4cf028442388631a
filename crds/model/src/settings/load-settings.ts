/** Resolves the settings of a program, which may name a settings file. */
import { readFile, stat } from "node:fs/promises";
import type { Violation } from "@sluice/plugin-sdk";
import type { Declarations, SettingsOf } from "./declaration.ts";
import { type ResolvedSetting, resolveSettings, settingsViolations } from "./resolve-settings.ts";
import { settingsFile } from "./setting-names.ts";
import type { ParsedSettingsFile } from "./settings-file.ts";

/** Bytes. All settings with their longest values need a small part of this. */
const MAXIMUM_SIZE = 1_048_576;

export interface LoadedSettings<Declared extends Declarations = Declarations> {
  /** The values by name. Not complete if there are violations. */
  readonly values: SettingsOf<Declared>;
  readonly resolved: readonly ResolvedSetting[];
  /** The faults of all settings, of unknown variables, and of the settings file. */
  readonly violations: readonly Violation[];
}

interface Given {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly flags: Readonly<Record<string, string>>;
}

/** Reads the settings file that `--settings` or SLUICE_SETTINGS names, if any, and resolves all settings. */
export async function loadSettings<const Declared extends Declarations>(
  declarations: Declared,
  { env, flags }: Given,
): Promise<LoadedSettings<Declared>> {
  const [file] = resolveSettings({ settingsFile }, env, { flags });
  const own = Object.values(declarations).map(({ variable }) => variable);
  const named = file?.from === "default" ? undefined : file;
  const read = named && (await readSettingsFile(named, own));
  const resolved = resolveSettings(declarations, env, { flags, file: read?.members });
  const violations = [...(read?.violations ?? []), ...settingsViolations(resolved, env)];
  const values = Object.fromEntries(resolved.map(({ name, value }) => [name, value])) as SettingsOf<Declared>;
  return { values, resolved, violations };
}

async function readSettingsFile(
  { value, fault, place }: ResolvedSetting,
  own: readonly string[],
): Promise<ParsedSettingsFile> {
  if (fault !== undefined) return { members: new Map(), violations: [{ path: [place], message: fault }] };
  const file = String(value);
  try {
    if ((await stat(file)).size > MAXIMUM_SIZE) throw new Error(`it has more than ${MAXIMUM_SIZE} bytes`);
    const text = await readFile(file, "utf8");
    // Loaded on demand, so that a node without a settings file spends no memory on the YAML parser.
    const { parseSettingsFile } = await import("./settings-file.ts");
    return parseSettingsFile(text, { file, own });
  } catch (error) {
    const message = `the settings file ${file} cannot be read: ${(error as Error).message}`;
    return { members: new Map(), violations: [{ path: [place], message }] };
  }
}
