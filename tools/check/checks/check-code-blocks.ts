import { parseAllDocuments } from "yaml";
import { knownVariables } from "../../../crds/model/src/settings/known-variables.ts";
import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";

/** A fenced block: its indentation, its language and its text. */
const BLOCK = /^( *)```(\w+)[^\n]*\n([\s\S]*?)^\1```$/gm;
const SETTING = /\b(SLUICE_[A-Z0-9_]+)(.?)/g;

/**
 * Settings that do not exist, although the text or the code of a page names them, and blocks of JSON and YAML that
 * cannot be parsed.
 *
 * @param settings The names of all settings.
 */
export function checkCodeBlocks(
  files: readonly CheckedFile[],
  settings: readonly string[] = knownVariables,
): readonly Fault[] {
  const known = new Set(settings);
  // A name that ends in `_` stands for all settings with this prefix if a character follows it, as in `SLUICE_PG_*`.
  const isKnown = (name: string, next: string) =>
    known.has(name) || (name.endsWith("_") && next !== "" && settings.some((setting) => setting.startsWith(name)));

  return files
    .filter(({ path }) => path.endsWith(".md") && !path.startsWith("test/"))
    .flatMap(({ path, text }) => {
      const fault = (at: number, message: string) => ({
        file: path,
        line: text.slice(0, at).split("\n").length,
        message,
      });
      const unknown = [...text.matchAll(SETTING)]
        .filter(([, name = "", next = ""]) => !isKnown(name, next))
        .map(({ index, 1: name }) => fault(index, `names the setting ${name}, which does not exist`));
      const broken = [...text.matchAll(BLOCK)].flatMap(({ index, 1: indent = "", 2: language = "", 3: block = "" }) => {
        const found = parsers[language]?.(block.replaceAll(new RegExp(`^${indent}`, "gm"), ""));
        return found === undefined ? [] : [fault(index, `has a block of ${language} that cannot be parsed: ${found}`)];
      });
      return [...unknown, ...broken];
    });
}

/** Each returns the first error of a text, by the language of its block. */
const parsers: Readonly<Record<string, (text: string) => string | undefined>> = {
  json(text) {
    try {
      JSON.parse(text);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  },
  yaml: (text) =>
    parseAllDocuments(text)
      .flatMap(({ errors }) => errors)[0]
      ?.message.split("\n", 1)[0],
};
