/** Formats of the output of commands. */
import { styleText } from "node:util";
import { escapeControlCharacters } from "@sluice/model/serving";
import { stringify } from "yaml";

/** Whether the output has colours: standard output is a terminal, and NO_COLOR (https://no-color.org) is unset. */
const coloured = (): boolean => process.stdout.isTTY === true && !process.env.NO_COLOR;

type Style = "bold" | "dim" | "green" | "red" | "yellow";

/** The text with a style, on a terminal. */
export const styledText = (style: Style, text: string): string =>
  coloured() ? styleText(style, text, { validateStream: false }) : text;

/** Rows of text in aligned columns. The first row is the header. */
export function formatTable([header = [], ...given]: readonly (readonly string[])[]): string {
  const rows = given.map((row) => row.map(escapeControlCharacters));
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${[styledText("bold", line(header)), ...rows.map(line)].join("\n")}\n`;
}

/** A value as YAML or JSON, for programs. */
export const formatData = (format: "yaml" | "json", value: unknown): string =>
  format === "yaml" ? stringify(value, { lineWidth: 0 }) : `${JSON.stringify(value, null, 2)}\n`;
