import { posix } from "node:path";
import type { Fault } from "../fault.ts";
import { isTest } from "../imports.ts";
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

const mostFiles = 12;

/** Folders with too many source files for one subject. Suites, tests and their helpers do not count; tools do. */
export function checkFolders(files: readonly CheckedFile[]): readonly Fault[] {
  const counts = new Map<string, number>();
  for (const { path } of files) {
    const isSource = path.startsWith("tools/") ? !path.endsWith(".test.ts") : !isTest(path);
    if (!/\.tsx?$/.test(path) || !isSource) continue;
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > mostFiles)
    .map(([folder, count]) => ({
      file: folder,
      message: `has ${count} source files, more than ${mostFiles}: move those of one subject to a folder of their own`,
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

/** The only file that may use members of Node that it does not document. */
const internalsFile = "gateway/src/proxy/sockets/node-internals.ts";
const internals =
  /\b_(?:handle|events|readableState|writableState)\b|\bprocess\.binding\b|\binternalBinding\b|\bgetOwnPropertySymbols\b|--expose-internals/;

/** Uses of Node's internals outside of their file, which has a fallback for versions of Node that lack them. */
export function checkInternals(files: readonly CheckedFile[]): readonly Fault[] {
  return files
    .filter(({ path }) => /\.tsx?$/.test(path) && path !== internalsFile && !path.startsWith("tools/check/"))
    .flatMap(({ path, text }) =>
      text.split("\n").flatMap((line, index) => {
        const found = line.match(internals)?.[0];
        const message = `uses ${found}, which Node does not document: put it into ${internalsFile}, with a fallback`;
        return found === undefined ? [] : [{ file: path, line: index + 1, message }];
      }),
    );
}
