/** Reads a declarative file for the commands. */
import { readFile } from "node:fs/promises";
import {
  type Checked,
  describeViolation,
  describeWarnings,
  type LoadedText,
  type LoadOptions,
  loadText,
} from "@sluice/model";
import { CommandError } from "../command.ts";

export interface ReadDeclarativeOptions extends Pick<LoadOptions, "database"> {
  /** Called with a sentence for each warning. */
  readonly warn: (sentence: string) => void;
}

/** @throws CommandError with every error and its position. */
export async function readDeclarative(file: string, { warn, ...options }: ReadDeclarativeOptions): Promise<LoadedText> {
  const text = await readFile(file, "utf8");
  const loaded = good(file, loadText(text, { ...options, file }));
  for (const sentence of describeWarnings(loaded.warnings)) warn(sentence);
  return loaded;
}

/** @throws CommandError with every error and its position. */
export function good<Value>(file: string, { value, violations }: Checked<Value>): Value {
  if (!violations) return value;
  const count = violations.length === 1 ? "1 fault" : `${violations.length} faults`;
  throw new CommandError(`${file} has ${count}:`, violations.map(describeViolation));
}
