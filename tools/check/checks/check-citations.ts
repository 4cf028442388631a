import { posix } from "node:path";
import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";
import { headingsOf } from "./check-links.ts";

/** Names of planning documents that are not part of the repository. */
const UNPUBLISHED = /\bkong[- ]contract\b|\bhouse[- ](?:decision|rule)s?\b/gi;
const DECISION = /\bdecisions? (\d+)\b/gi;
const DECISION_FILE = /\bdecisions\/(\d{4})\b/g;
const PAGE = /(?<![\w./-])([\w./-]+\.md)(?:#([\w-]+))?/g;
const COMMENT = /^\s*(?:\/\*|\*|\/\/|#)/;
const RECORD = /^docs\/decisions\/(\d{4})-[^/]*\.md$/;

/**
 * Citations that a reader of the repository cannot follow: planning documents that are not in it, numbers of decision
 * records that do not exist, and pages or headings that a comment names and that do not exist. Links of Markdown pages
 * are checked by `checkLinks`.
 *
 * @param paths Of all files of the repository, also those that are not texts.
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

  const faultsIn = (file: string, line: string): readonly string[] => [
    ...[...line.matchAll(UNPUBLISHED)].map(([cited]) => `cites '${cited}', which readers do not have`),
    ...[...line.matchAll(DECISION), ...line.matchAll(DECISION_FILE)].flatMap(faultOfDecision),
    ...(COMMENT.test(line) && !file.endsWith(".md")
      ? [...line.matchAll(PAGE)].flatMap((found) => faultOfPage(file, found))
      : []),
  ];

  return files.flatMap(({ path, text }) => [
    ...faultsOfRecord(path, text),
    ...text
      .split("\n")
      .flatMap((line, index) => faultsIn(path, line).map((message) => ({ file: path, line: index + 1, message }))),
  ]);
}

/** The title of a decision record begins with the number in its file name. */
function faultsOfRecord(path: string, text: string): readonly Fault[] {
  const number = RECORD.exec(path)?.[1];
  if (number === undefined || text.startsWith(`# ${Number(number)}. `)) return [];
  return [{ file: path, line: 1, message: `has a title that does not begin with '# ${Number(number)}. '` }];
}
