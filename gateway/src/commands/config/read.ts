/** A declarative file as the commands read it. */
import { readFile } from "node:fs/promises";
import { type Checked, describeViolation, type LoadedText, type LoadOptions, loadText } from "@sluice/model";
import { Refused } from "../command.ts";

/** @throws Refused with every fault and its place. */
export async function readDeclarative(file: string, options: Pick<LoadOptions, "database"> = {}): Promise<LoadedText> {
  const text = await readFile(file, "utf8");
  return good(file, loadText(text, { ...options, file }));
}

/** @throws Refused with every fault and its place. */
export function good<Value>(file: string, { value, violations }: Checked<Value>): Value {
  if (!violations) return value;
  const count = violations.length === 1 ? "1 fault" : `${violations.length} faults`;
  throw new Refused(`${file} has ${count}:`, violations.map(describeViolation));
}
