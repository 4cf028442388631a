import { posix } from "node:path";
import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";

const LINK = /\[[^\]]*\]\(([^()\s]+)\)((?:[:,] "[^"]+")*)/g;

/**
 * Links of Markdown pages to files and headings that do not exist, and texts that a page quotes after a link to a
 * source file (`[path](path): "name of a test", "another"`) and that the file does not contain.
 *
 * @param paths The paths of all files of the repository, including those that are not texts.
 */
export function checkLinks(files: readonly CheckedFile[], paths: readonly string[]): readonly Fault[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const existing = new Set(paths.flatMap((path) => [path, ...foldersOf(path)]));

  function faultIn(page: string, target: string, quoted: string): string | undefined {
    const path = linkedPath(page, target);
    const [, heading] = target.split("#", 2);
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
      relativeLinks(text).flatMap(({ line, target, quoted }) => {
        const message = faultIn(path, target, quoted);
        return message === undefined ? [] : [{ file: path, line, message }];
      }),
    );
}

interface RelativeLink {
  readonly line: number;
  readonly target: string;
  /** The quoted texts after the link. */
  readonly quoted: string;
}

/** Whether a link leads out of the repository. */
export const isAbsoluteLink = (target: string): boolean => /^[a-z][a-z+.-]*:/i.test(target);

/** The links of a page to files of the repository and to headings, outside of fenced code. */
export const relativeLinks = (text: string): readonly RelativeLink[] =>
  withoutCode(text).flatMap((line, index) =>
    [...line.matchAll(LINK)]
      .map(([, target = "", quoted = ""]) => ({ line: index + 1, target, quoted }))
      .filter(({ target }) => !isAbsoluteLink(target)),
  );

/** The path of a link's target in the repository. */
export const linkedPath = (page: string, target: string): string => {
  const [relative = ""] = target.split("#", 1);
  return relative === "" ? page : posix.join(posix.dirname(page), relative).replace(/\/$/, "");
};

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

/** The anchor that GitHub makes of a heading, but without the number that GitHub adds if headings are equal. */
export const headingAnchor = (words: string): string =>
  words
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-");

/** The anchors of a page's headings. */
export const headingsOf = (text: string): ReadonlySet<string> =>
  new Set(
    withoutCode(text).flatMap((line) => {
      const [, words] = /^#+ +(.*?) *$/.exec(line) ?? [];
      return words === undefined ? [] : [headingAnchor(words)];
    }),
  );
