import { posix } from "node:path";
import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";
import { headingsOf } from "./check-links.ts";

/** Names of planning documents that are not part of the repository. */
const UNPUBLISHED = /\bkong[- ]contract\b|\bhouse[- ](?:decision|rule)s?\b/gi;
const DECISION = /\bdecisions? (\d+)\b/gi;
const DECISION_FILE = /\bdecisions\/(\d{4})\b/g;
const PAGE = /(?<![\w./-])([\w./-]+\.md)(?:#([\w-]+))?/g;
/** A TypeScript file in backticks, by its path or by the end of its path. */
const MODULE = /`(?:\.\/)?([\w./@-]+\.ts)`/g;
const COMMENT = /^\s*(?:\/\*|\*|\/\/|#)/;
const RECORD = /^docs\/decisions\/(\d{4})-[^/]*\.md$/;

/**
 * Citations that a reader of the repository cannot follow: of planning documents that are not in it, and of decision
 * records, TypeScript files, pages and headings that do not exist. Pages and headings are looked for in comments only:
 * `checkLinks` checks the links of Markdown pages. Also returns decision records with a wrong or a shared number.
 *
 * @param paths The paths of all files of the repository, including those that are not texts.
 */
export function checkCitations(files: readonly CheckedFile[], paths: readonly string[]): readonly Fault[] {
  const existing = new Set(paths);
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const records = new Set(paths.flatMap((path) => Number(RECORD.exec(path)?.[1] ?? [])));

  const faultOfDecision = ([cited, number]: RegExpMatchArray): string[] =>
    records.has(Number(number)) ? [] : [`cites '${cited}', which docs/decisions does not have`];

  function faultOfPage(file: string, [cited, page = "", heading]: RegExpMatchArray): string[] {
    const path = [page, posix.join(posix.dirname(file), page)].find((candidate) => existing.has(candidate));
    if (path === undefined) return [`cites ${page}, which does not exist`];
    if (heading === undefined || headingsOf(texts.get(path) ?? "").has(heading)) return [];
    return [`cites ${cited}: ${path} does not have this heading`];
  }

  const isModule = (cited: string) => paths.some((path) => path === cited || path.endsWith(`/${cited}`));

  const faultsIn = (file: string, line: string): readonly string[] => [
    ...[...line.matchAll(UNPUBLISHED)].map(([cited]) => `cites '${cited}', which readers do not have`),
    ...[...line.matchAll(DECISION), ...line.matchAll(DECISION_FILE)].flatMap(faultOfDecision),
    ...(COMMENT.test(line) && !file.endsWith(".md")
      ? [...line.matchAll(PAGE)].flatMap((found) => faultOfPage(file, found))
      : []),
    ...(COMMENT.test(line) || file.endsWith(".md")
      ? [...line.matchAll(MODULE)]
          .filter(([, cited = ""]) => !isModule(cited))
          .map(([, cited]) => `cites ${cited}, which does not exist`)
      : []),
  ];

  return files.flatMap(({ path, text }) => [
    ...faultsOfRecord(path, text, paths),
    ...text
      .split("\n")
      .flatMap((line, index) => faultsIn(path, line).map((message) => ({ file: path, line: index + 1, message }))),
  ]);
}

/**
 * Errors in the number of a decision record: its title must begin with the number in its file name, and no other record
 * may have this number. Empty for other files.
 */
function faultsOfRecord(path: string, text: string, paths: readonly string[]): readonly Fault[] {
  const number = RECORD.exec(path)?.[1];
  if (number === undefined) return [];
  const sameNumber = paths.find((other) => other !== path && RECORD.exec(other)?.[1] === number);
  const messages = [
    ...(text.startsWith(`# ${Number(number)}. `)
      ? []
      : [`has a title that does not begin with '# ${Number(number)}. '`]),
    ...(sameNumber === undefined ? [] : [`has the same number as ${sameNumber}`]),
  ];
  return messages.map((message) => ({ file: path, line: 1, message }));
}
