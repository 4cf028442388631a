import type { Fault } from "../fault.ts";
import type { CheckedFile } from "../source-files.ts";

const page = "ARCHITECTURE.md";
const index = "docs/README.md";

/** Folders whose subfolders with TypeScript files must be named in ARCHITECTURE.md, each as a path in backticks. */
const parents = [
  ...["gateway/src", "operator/src", "user-api/src", "crds/model/src", "crds/client/src", "gateway/plugin-sdk/src"],
  "gateway/console/src",
  ...["pulumi", "tools", "test"],
];

/** A path of the repository in backticks, without placeholders or globs. */
const quotedPath = /`((?:charts|crds|docs|gateway|operator|pulumi|test|tools|user-api)(?:\/[\w.@-]+)+)\/?`/g;

/** A row of the table of interfaces: the interface with a link to its file, and its members. */
const interfaceRow = /^\| \[`(\w+)`\]\(([^)]+)\)[^|]*\| ([^|]+) \|/;

/**
 * Folders that ARCHITECTURE.md does not name, paths that it names and that do not exist, and rows of its table of
 * interfaces that differ from the declared interface.
 *
 * @param paths The paths of all files of the repository.
 */
export function checkArchitecture(files: readonly CheckedFile[], paths: readonly string[]): readonly Fault[] {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const text = texts.get(page);
  if (text === undefined) return [{ file: page, message: "does not exist" }];

  const exists = (path: string) => paths.some((file) => file === path || file.startsWith(`${path}/`));
  const named = new Set([...text.matchAll(quotedPath)].map(([, path = ""]) => path));
  const missing = namedFolders(paths).filter((folder) => !named.has(folder));

  const inLines = text.split("\n").flatMap((line, at) => {
    const unknown = [...line.matchAll(quotedPath)].filter(([, path = ""]) => !exists(path));
    const messages = unknown.map(([, path]) => `names ${path}, which does not exist`);
    const [, name = "", file = "", members = ""] = interfaceRow.exec(line) ?? [];
    const differs = name === "" ? undefined : differenceOf(name, namesIn(members), texts.get(file));
    if (differs !== undefined) messages.push(`${name} in ${file} ${differs}`);
    return messages.map((message) => ({ file: page, line: at + 1, message }));
  });
  return [...missing.map((folder) => ({ file: page, message: `does not name the folder \`${folder}\`` })), ...inLines];
}

/**
 * Pages below docs that docs/README.md does not link to. Decision records and the pages of plugins have lists of their
 * own, and are not reported.
 */
export function checkIndex(files: readonly CheckedFile[]): readonly Fault[] {
  const text = files.find(({ path }) => path === index)?.text ?? "";
  return files
    .map(({ path }) => path)
    .filter(
      (path) => /^docs\/.*\.md$/.test(path) && path !== index && !/^docs\/(decisions|reference\/plugins)\//.test(path),
    )
    .filter((path) => !text.includes(`](${path.slice("docs/".length)})`))
    .map((path) => ({ file: index, message: `does not link to ${path}` }));
}

function namedFolders(paths: readonly string[]): readonly string[] {
  const pattern = new RegExp(`^(?:${parents.join("|")})/[^/]+(?=/.*\\.tsx?$)`);
  return [...new Set(paths.flatMap((path) => pattern.exec(path)?.[0] ?? []))].toSorted();
}

const namesIn = (cell: string): readonly string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);

/** How the listed members differ from the declared ones; undefined if they do not. A type alias has no members. */
function differenceOf(name: string, listed: readonly string[], text: string | undefined): string | undefined {
  const declared = text === undefined ? undefined : membersOf(name, text);
  if (declared === undefined) return "is not declared there";
  if (declared.toSorted().join() === listed.toSorted().join()) return undefined;
  return `has the members ${declared.join(", ") || "(none)"}, not ${listed.join(", ") || "(none)"}`;
}

function membersOf(name: string, text: string): readonly string[] | undefined {
  const [, body] = new RegExp(`^export interface ${name}\\b[^\\n]*\\{\\n(.*?)^\\}`, "ms").exec(text) ?? [];
  if (body === undefined) return new RegExp(`^export type ${name}\\b`, "m").test(text) ? [] : undefined;
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[<(:]/gm)].map(([, member = ""]) => member);
}
