/** Where a file of the repository is on the documentation site, and the navigation of the site. */
import { posix } from "node:path";
import { isAbsoluteLink, linkedPath, relativeLinks } from "../check/checks/check-links.ts";
import type { CheckedFile } from "../check/source-files.ts";

/** The folder of the site with copies of source files that pages link to. */
const SOURCE = "source";

/** The file of the site for a page of the repository: a README is the start page of its folder. */
export const siteFileOf = (page: string): string => page.replace(/(^|\/)README\.md$/, "$1index.md");

const isPage = (path: string): boolean => path.endsWith(".md") && !path.startsWith(".github/");

/** The link on the site for a link of a page. Links out of the repository and within the page stay as they are. */
export function siteLink(page: string, target: string, folders: ReadonlySet<string>): string {
  if (isAbsoluteLink(target) || target.startsWith("#")) return target;
  const [, heading] = target.split("#", 2);
  const path = linkedPath(page, target);
  const anchor = heading === undefined ? "" : `#${heading}`;
  if (folders.has(path)) return `/${SOURCE}/${path}/index.html`;
  return isPage(path) ? `/${siteFileOf(path)}${anchor}` : `/${SOURCE}/${path}.txt`;
}

/** Every folder that has files, by its path without a slash at the end. */
export const foldersIn = (paths: readonly string[]): ReadonlySet<string> =>
  new Set(paths.flatMap((path) => (path.includes("/") ? parentsOf(path) : [])));

function parentsOf(path: string): readonly string[] {
  const parent = posix.dirname(path);
  return parent === "." ? [] : [parent, ...parentsOf(parent)];
}

/**
 * The files to publish beside the pages, because pages link to them, by their path on the site. Source files are text,
 * so that browsers show them; a folder is a list of its files.
 */
export function linkedSources(files: readonly CheckedFile[]): ReadonlyMap<string, string> {
  const texts = new Map(files.map(({ path, text }) => [path, text]));
  const folders = foldersIn([...texts.keys()]);
  const published = new Map<string, string>();
  const publish = (path: string) => published.set(`${SOURCE}/${path}.txt`, texts.get(path) ?? "");
  for (const { path: page, text } of files.filter(({ path }) => isPage(path))) {
    for (const { target } of relativeLinks(text)) {
      const path = linkedPath(page, target);
      if (folders.has(path)) {
        const inside = [...texts.keys()].filter((file) => file.startsWith(`${path}/`));
        for (const file of inside.filter((file) => !isPage(file))) publish(file);
        published.set(`${SOURCE}/${path}/index.html`, listing(path, inside));
      } else if (texts.has(path) && !isPage(path)) publish(path);
    }
  }
  return published;
}

function listing(folder: string, files: readonly string[]): string {
  const items = files.map((file) => {
    const place = isPage(file) ? siteFileOf(file).replace(/\.md$/, ".html") : `${SOURCE}/${file}.txt`;
    return `<li><a href="${posix.relative(`${SOURCE}/${folder}`, place)}">${posix.relative(folder, file)}</a></li>`;
  });
  return `<!doctype html><meta charset="utf-8"><title>${folder}</title><h1>${folder}</h1><ul>${items.join("")}</ul>\n`;
}

export interface NavigationGroup {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** The groups of the navigation: the sections of docs/README.md with the pages of their tables, in the same order. */
export function navigationOf(index: string, folders: ReadonlySet<string>): readonly NavigationGroup[] {
  const page = "docs/README.md";
  return index
    .split("\n## ")
    .slice(1)
    .map((section) => ({
      text: section.split("\n", 1)[0] ?? "",
      items: [...section.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\)/gm)].map(([, text = "", target = ""]) => ({
        text: text.replaceAll("`", ""),
        link: siteLink(page, target, folders),
      })),
    }))
    .filter(({ items }) => items.length > 0);
}
