/** Paths of other APIs in the grammar of a Route's `paths`. */
import { escapeRegex } from "@sluice/model";

/** Matches only this path. */
export const exactPath = (path: string): string => `~${escapeRegex(path)}$`;

/** Match whole elements of the path: `/foo` and `/foo/` match `/foo` and `/foo/bar`, and not `/foobar`. */
export function prefixPaths(path: string): readonly string[] {
  const folder = path.endsWith("/") ? path : `${path}/`;
  return folder === "/" ? [folder] : [exactPath(folder.slice(0, -1)), folder];
}
