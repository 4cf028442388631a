import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";

const longest = 400;

/** Source files that are too long for one subject. Generated files and data are exempt. */
export function checkLength(files: readonly CheckedFile[]): readonly Fault[] {
  return files
    .filter(({ path, text }) => /\.(tsx?|go|sh)$/.test(path) && !/^\/\/ .*generated/i.test(text))
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split("\n").length }))
    .filter(({ lines }) => lines > longest)
    .map(({ path, lines }) => ({
      file: path,
      message: `has ${lines} lines, more than ${longest}: split it by subject`,
    }));
}

/** Text that would tie the repository to the machine or the registry mirror on which it was written. */
const forbidden: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /\bregistry\.[a-z-]+\.(org|com|io)\b/, what: "the host of a package registry" },
  { pattern: /\b(proxy|sum)\.golang\.org\b/, what: "the host of a Go module mirror" },
  { pattern: /"resolved": "(https?|git)\b/, what: "where a package was downloaded from" },
  { pattern: /^\s*registry\s*=/, what: "a package registry" },
  { pattern: /(?<![\w.*})$~-])\/(root|work)\/[\w.]/, what: "a path of one machine" },
  { pattern: /(?<![\w.*})$~-])\/(home|Users)\/(?!node\b|nonroot\b)\w/, what: "a path of one machine" },
];

/** Registry hosts and absolute paths, which must not be committed. */
export function checkWords(files: readonly CheckedFile[]): readonly Fault[] {
  return files.flatMap(({ path, text }) =>
    text.split("\n").flatMap((words, index) =>
      forbidden.flatMap(({ pattern, what }) => {
        const found = words.match(pattern)?.[0];
        return found === undefined ? [] : [{ file: path, line: index + 1, message: `names ${what}: ${found}` }];
      }),
    ),
  );
}
