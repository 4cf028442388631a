/** Start-up settings of a process, read from environment variables. */
import type { Checked, Violation } from "@sluice/plugin-sdk";
import type { Declaration, Declarations, SettingsOf } from "./declaration.ts";
import { findUnknownVariables } from "./environment.ts";
import { settingKindOf } from "./setting-kinds.ts";

/** A problem with the settings, or with what they select, that the user must fix; the message says what to change. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/**
 * Returns the values, or all violations together; the path of each violation is the name of its variable. An empty
 * variable counts as unset. An unknown variable that begins with `SLUICE_` is a violation, because it is probably
 * misspelt. Variables that Kubernetes sets for Services are not violations.
 */
export function readSettings<const Declared extends Declarations>(
  declarations: Declared,
  env: Readonly<Record<string, string | undefined>>,
): Checked<SettingsOf<Declared>> {
  const read = Object.entries(declarations).map(([name, declaration]) => ({
    name,
    path: [declaration.variable],
    ...readOne(declaration, env[declaration.variable]?.trim() ?? ""),
  }));
  const variables = Object.values(declarations).map(({ variable }) => variable);
  const violations = [
    ...read.flatMap(({ path, fault }): Violation[] => (fault === undefined ? [] : [{ path, message: fault }])),
    ...findUnknownVariables(env, variables),
  ];
  if (violations.length > 0) return { violations };
  return { value: Object.fromEntries(read.map(({ name, value }) => [name, value])) as SettingsOf<Declared> };
}

interface Read {
  readonly value?: unknown;
  readonly fault?: string;
}

function readOne(declaration: Declaration, text: string): Read {
  const { parse, expected } = settingKindOf(declaration);
  if (text === "" && declaration.default === undefined) return { fault: `must be set: ${expected(declaration)}` };
  // A default of the kind `address` is declared as text, and parsed below.
  if (text === "" && (declaration.kind !== "address" || declaration.default === null))
    return { value: declaration.default };
  const given = text === "" ? String(declaration.default) : text;
  const value = parse(given, declaration);
  if (value !== undefined) return { value };
  return { fault: `expected ${expected(declaration)}${declaration.secret === true ? "" : `, not '${given}'`}` };
}

export { type ArgumentsRead, type CommandArguments, type GivenArguments, readArguments } from "./arguments.ts";
export {
  type Address,
  type Declaration,
  type Declarations,
  defineSettings,
  hostAndPort,
  type SettingsOf,
} from "./declaration.ts";
export { describeSettings, listSettings } from "./describe.ts";
