/** Resolves start-up settings from flags, environment variables, a settings file and defaults. */
import type { Checked, Violation } from "@sluice/plugin-sdk";
import type { Declaration, Declarations, SettingsOf } from "./declaration.ts";
import { findUnknownVariables } from "./environment.ts";
import { settingKindOf } from "./setting-kinds.ts";
import { flagOf, settingsFile, settingsMemberOf } from "./setting-names.ts";

/** The value of a member of a settings file. */
export interface SettingsFileMember {
  readonly text: string;
  /** Whether the value is a list. Its items are joined by commas in `text`. */
  readonly sequence: boolean;
  /** `sluice.yaml:3:1` */
  readonly position: string;
}

export type SettingsFile = ReadonlyMap<string, SettingsFileMember>;

/** Where values come from, in addition to the environment. */
export interface SettingsSources {
  /** Values of flags by name: `--proxy-listen`. */
  readonly flags?: Readonly<Record<string, string>>;
  readonly file?: SettingsFile | undefined;
}

/** A setting with the source of its value. */
export interface ResolvedSetting {
  readonly name: string;
  readonly declaration: Declaration;
  readonly from: "flag" | "variable" | "file" | "default";
  /** The place of the value: `--proxy-listen`, `SLUICE_PROXY_LISTEN` or `sluice.yaml:3:1: proxy_listen`. */
  readonly place: string;
  readonly value?: unknown;
  readonly fault?: string;
}

/**
 * Resolves each setting from its flag, its environment variable, its member of the settings file, or its default, in
 * this order. An empty variable or member counts as unset.
 */
export function resolveSettings(
  declarations: Declarations,
  env: Readonly<Record<string, string | undefined>>,
  sources: SettingsSources = {},
): readonly ResolvedSetting[] {
  return Object.entries(declarations).map(([name, declaration]) => {
    const given = givenText(declaration.variable, env, sources);
    return { name, declaration, from: given.from, place: given.place, ...readOne(declaration, given) };
  });
}

/**
 * Returns the values, or all violations together; the path of each violation is the place of the value. An unknown
 * variable that begins with `SLUICE_` is a violation, because it is probably misspelt. Variables that Kubernetes sets
 * for Services are not violations.
 */
export function readSettings<const Declared extends Declarations>(
  declarations: Declared,
  env: Readonly<Record<string, string | undefined>>,
  sources: SettingsSources = {},
): Checked<SettingsOf<Declared>> {
  const resolved = resolveSettings(declarations, env, sources);
  const violations = settingsViolations(resolved, env);
  if (violations.length > 0) return { violations };
  return { value: Object.fromEntries(resolved.map(({ name, value }) => [name, value])) as SettingsOf<Declared> };
}

/** The faults of resolved settings, and of unknown variables. */
export function settingsViolations(
  resolved: readonly ResolvedSetting[],
  env: Readonly<Record<string, string | undefined>>,
): readonly Violation[] {
  const variables = [settingsFile, ...resolved.map(({ declaration }) => declaration)].map(({ variable }) => variable);
  return [
    ...resolved.flatMap(({ place, fault }) => (fault === undefined ? [] : [{ path: [place], message: fault }])),
    ...findUnknownVariables(env, variables),
  ];
}

interface GivenText extends Pick<ResolvedSetting, "from" | "place"> {
  readonly text: string;
  readonly sequence?: boolean;
}

function givenText(
  variable: string,
  env: Readonly<Record<string, string | undefined>>,
  { flags = {}, file }: SettingsSources,
): GivenText {
  const flag = flagOf(variable);
  if (flags[flag] !== undefined) return { from: "flag", place: flag, text: flags[flag].trim() };
  const text = env[variable]?.trim() ?? "";
  if (text !== "") return { from: "variable", place: variable, text };
  const name = settingsMemberOf(variable);
  const member = file?.get(name);
  if (!member?.text.trim()) return { from: "default", place: variable, text: "" };
  return { from: "file", place: `${member.position}: ${name}`, text: member.text.trim(), sequence: member.sequence };
}

function readOne(declaration: Declaration, { from, text, sequence }: GivenText): { value?: unknown; fault?: string } {
  const { kind } = declaration;
  const { parse, expected } = settingKindOf(declaration);
  if (from === "default" && declaration.default === undefined)
    return { fault: `must be set: ${expected(declaration)}` };
  // A default of the kind `address` is declared as text, and parsed below.
  if (from === "default" && (kind !== "address" || declaration.default === null)) return { value: declaration.default };
  if (from === "flag" && text === "") return { fault: `expected ${expected(declaration)}, not an empty text` };
  if (sequence && kind !== "list" && kind !== "addresses" && kind !== "listeners")
    return { fault: `expected ${expected(declaration)}, not a list` };
  const given = from === "default" ? String(declaration.default) : text;
  const value = parse(given, declaration);
  if (value !== undefined) return { value };
  return { fault: `expected ${expected(declaration)}${declaration.secret === true ? "" : `, not '${given}'`}` };
}
