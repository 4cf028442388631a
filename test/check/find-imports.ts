import ts from "typescript";
import type { SourceFile } from "./source-files.ts";

/** One import, export-from, dynamic import of a constant, or import type of a file. */
export interface Import {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** What stands between the quotes. */
  readonly specifier: string;
}

/** The imports of TypeScript files, in order. Text in comments and strings does not count. */
export function findImports(files: readonly SourceFile[]): readonly Import[] {
  return files
    .filter(({ path }) => path.endsWith(".ts"))
    .flatMap(({ path, text }) =>
      ts.preProcessFile(text, true, true).importedFiles.map(({ fileName, pos }) => ({
        file: path,
        line: text.slice(0, pos).split("\n").length,
        specifier: fileName,
      })),
    );
}

/** The package of a specifier (`@scope/name/sub/file.js` -> `@scope/name`), or undefined for relative and `node:`. */
export function packageOf(specifier: string): string | undefined {
  if (/^[./]|^node:/.test(specifier)) return undefined;
  return specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
}
