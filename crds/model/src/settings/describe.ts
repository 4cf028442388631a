/** Settings as the reference pages, `--help` and `sluice settings` show them. */
import { type Address, type Declaration, type Declarations, hostAndPort, type ListenerAddress } from "./declaration.ts";
import { settingKindOf, UNIT_MILLISECONDS } from "./setting-kinds.ts";
import { flagOf, negativeFlagOf, settingsMemberOf } from "./setting-names.ts";

/** A Markdown table of the settings, for the reference pages. */
export function describeSettings(declarations: Declarations): string {
  const rows = Object.values(declarations).map((declaration) => {
    const cells = [
      settingNames(declaration)
        .map((name) => `\`${name}\``)
        .join("<br>"),
      settingKindOf(declaration).expected(declaration),
      shownDefault(declaration),
      declaration.description,
    ];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return ["| setting | value | default | effect |", "|---|---|---|---|", ...rows, ""].join("\n");
}

/** The variable, the flags and the member of a settings file. A secret has no flag. */
function settingNames({ variable, kind, secret }: Declaration): readonly string[] {
  const flags = kind === "flag" ? [flagOf(variable), negativeFlagOf(variable)] : [flagOf(variable)];
  return [variable, ...(secret === true ? [] : flags), settingsMemberOf(variable)];
}

/** `required`, `unset`, or the value in backquotes. */
export function shownDefault(declaration: Declaration): string {
  const { default: value } = declaration;
  if (value === undefined) return "required";
  const shown = shownValue(declaration, value);
  return shown === null ? "unset" : `\`${shown}\``;
}

/** A value in the form in which it is set. Null: the setting is unset. */
export function shownValue({ kind, secret }: Declaration, value: unknown): string | null {
  if (value === null || (Array.isArray(value) && value.length === 0)) return null;
  if (secret === true) return "[redacted]";
  if (kind === "duration") return shownDuration(Number(value));
  if (kind === "listeners")
    return (value as readonly ListenerAddress[]).map((one) => `${hostAndPort(one)}${one.tls ? " ssl" : ""}`).join(", ");
  if (kind === "address" && typeof value === "object") return hostAndPort(value as Address);
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function shownDuration(milliseconds: number): string {
  const unit =
    ["h", "m", "s"].find((name) => milliseconds > 0 && milliseconds % (UNIT_MILLISECONDS[name] ?? 1) === 0) ?? "ms";
  return `${milliseconds / (UNIT_MILLISECONDS[unit] ?? 1)}${unit}`;
}
