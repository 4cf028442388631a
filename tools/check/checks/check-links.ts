import { posix } from "node:path";
import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";

const LINK = /\[[^\]]*\]\(([^()\s]+)\)((?:[:,] "[^"]+")*)/g;

/**
 * Links of Markdown pages to files and headings that do not exist, and texts that a page quotes after a link to a
 * source file (`[path](path): "name of a test", "another"`) and that the file does not contain.
 *
 * @param paths The paths of all files of the repository, also those that are not texts.
 */
export function checkLinks(files: readonly CheckedFile[], paths: readonly string[]): readonly Fault[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const existing = new Set(paths.flatMap((path) => [path, ...foldersOf(path)]));

  function faultIn(page: string, target: string, quoted: string): string | undefined {
    const [relative = "", heading] = target.split("#", 2);
    const path = relative === "" ? page : posix.join(posix.dirname(page), relative).replace(/\/$/, "");
    if (!existing.has(path)) return `links to ${path}, which does not exist`;
    const text = texts.get(path) ?? "";
    if (heading !== undefined && path.endsWith(".md") && !headingsOf(text).has(heading))
      return `links to the heading #${heading}, which ${path} does not have`;
    const missing = [...quoted.matchAll(/"([^"]+)"/g)].find(([, words = ""]) => !text.includes(words));
    return missing && `quotes ${missing[0]} from ${path}, which does not contain it`;
  }

  return files
    .filter(({ path }) => path.endsWith(".md"))
    .flatMap(({ path, text }) =>
      withoutCode(text).flatMap((line, index) =>
        [...line.matchAll(LINK)].flatMap(([, target = "", quoted = ""]) => {
          if (/^[a-z][a-z+.-]*:/i.test(target)) return [];
          const message = faultIn(path, target, quoted);
          return message === undefined ? [] : [{ file: path, line: index + 1, message }];
        }),
      ),
    );
}

function foldersOf(path: string): readonly string[] {
  const folder = posix.dirname(path);
  return folder === "." ? [folder] : [folder, ...foldersOf(folder)];
}

/** The lines of a page; those of fenced code are empty. */
function withoutCode(text: string): readonly string[] {
  let isCode = false;
  return text.split("\n").map((line) => {
    const isFence = /^\s*```/.test(line);
    if (isFence) isCode = !isCode;
    return isFence || isCode ? "" : line;
  });
}

/** The anchors of a page's headings, as GitHub makes them, but without the numbers that it adds to equal ones. */
export const headingsOf = (text: string): ReadonlySet<string> =>
  new Set(
    withoutCode(text).flatMap((line) => {
      const [, words] = /^#+ +(.*?) *$/.exec(line) ?? [];
      if (words === undefined) return [];
      return [
        words
          .toLowerCase()
          .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
          .replaceAll(" ", "-"),
      ];
    }),
  );
