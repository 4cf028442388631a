/** The reference page of settings. */
import type { Declaration, Declarations } from "./declaration.ts";
import { expected, UNITS } from "./kinds.ts";

/** A Markdown table of the settings, for the reference pages. */
export function describeSettings(declarations: Declarations): string {
  const rows = Object.values(declarations).map((declaration) => {
    const cells = [
      `\`${declaration.variable}\``,
      expected(declaration),
      shownDefault(declaration),
      declaration.description,
    ];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return ["| variable | value | default | effect |", "|---|---|---|---|", ...rows, ""].join("\n");
}

function shownDefault({ default: value, secret, kind }: Declaration): string {
  if (value === undefined) return "required";
  if (value === null || (Array.isArray(value) && value.length === 0)) return "unset";
  if (secret === true) return "[redacted]";
  return `\`${kind === "duration" ? shownDuration(Number(value)) : Array.isArray(value) ? value.join(", ") : String(value)}\``;
}

function shownDuration(milliseconds: number): string {
  const unit = ["h", "m", "s"].find((name) => milliseconds > 0 && milliseconds % (UNITS[name] ?? 1) === 0) ?? "ms";
  return `${milliseconds / (UNITS[unit] ?? 1)}${unit}`;
}
