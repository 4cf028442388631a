/** Headers, bodies and numbers as the options of a command give them. */
import { readFile } from "node:fs/promises";
import type { GivenOption } from "@sluice/model/command-line";
import { UsageError } from "../../command.ts";

/** @throws UsageError */
export function givenHeaders(given: GivenOption): Readonly<Record<string, readonly string[]>> {
  const headers: Record<string, string[]> = {};
  for (const line of Array.isArray(given) ? given : []) {
    const [, name = "", value = ""] = /^([^:\s]+):[ \t]*(.*)$/.exec(line) ?? [];
    if (name === "") throw new UsageError(`-H '${line}': expected 'NAME: VALUE'`);
    headers[name] = [...(headers[name] ?? []), value];
  }
  return headers;
}

/** As for curl's `--data`, `@FILE` is the content of a file. */
export const givenBody = async (given: string): Promise<string> =>
  given.startsWith("@") ? readFile(given.slice(1), "utf8") : given;

interface NumberLimits {
  readonly minimum?: number;
  readonly maximum?: number;
}

/** @throws UsageError */
export function givenNumber(option: string, given: GivenOption, limits: NumberLimits = {}): number {
  const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = limits;
  if (!/^\d{1,15}$/.test(String(given))) throw new UsageError(`--${option}: expected a number, not '${given}'`);
  const number = Number(given);
  if (number < minimum) throw new UsageError(`--${option}: expected at least ${minimum}`);
  if (number > maximum) throw new UsageError(`--${option}: expected at most ${maximum}`);
  return number;
}
