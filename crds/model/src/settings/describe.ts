/** Settings as the reference pages and `--help` show them. */
import type { Declaration, Declarations } from "./declaration.ts";
import { settingKindOf, UNITS } from "./setting-kinds.ts";

/** A Markdown table of the settings, for the reference pages. */
export function describeSettings(declarations: Declarations): string {
  const rows = Object.values(declarations).map((declaration) => {
    const cells = [
      `\`${declaration.variable}\``,
      settingKindOf(declaration).expected(declaration),
      shownDefault(declaration),
      declaration.description,
    ];
    return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  });
  return ["| variable | value | default | effect |", "|---|---|---|---|", ...rows, ""].join("\n");
}

/** Characters per line of help. */
const WIDTH = 100;

/** The settings for the help of a command: each variable with the form of its value, its default and description. */
export function listSettings(declarations: Declarations): string {
  return Object.values(declarations)
    .map((declaration) => {
      const shown = shownDefault(declaration).replaceAll("`", "");
      const note = shown === "required" || shown === "unset" ? shown : `default ${shown}`;
      const lines = [`${declaration.variable}: ${settingKindOf(declaration).expected(declaration)}; ${note}`];
      return [...lines, ...wrapped(declaration.description, WIDTH - 6).map((line) => `    ${line}`)]
        .map((line) => `  ${line}\n`)
        .join("");
    })
    .join("");
}

function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
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
