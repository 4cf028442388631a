/**
 * Regular expressions in formats before 3.0, which were written among plain paths without a mark. Kong's own migration
 * (migrate_regex_280_300) marks every path that has a character outside a plain set.
 */

const PLAIN = /^[a-zA-Z0-9.\-_~/%]*$/;

/** The route with its regular expressions marked by `~`. Paths that already start with `~` stay as they are. */
export function markRegexPaths(route: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!Array.isArray(route.paths)) return route;
  return { ...route, paths: route.paths.map((path) => (typeof path === "string" ? markRegexPath(path) : path)) };
}

function markRegexPath(path: string): string {
  if (PLAIN.test(path) || path.startsWith("~")) return path;
  return `~${path.replace(/%([\da-f]{2})/gi, decodeOnce)}`;
}

/** Before 3.0 paths were percent-decoded when stored; since then they are not, so the migration decodes them once. */
function decodeOnce(encoded: string, hex: string): string {
  const character = String.fromCharCode(Number.parseInt(hex, 16));
  if ("!#$%&'()*+,/:;=?@[]".includes(character) || character > "\x7f") return encoded.toUpperCase();
  return ".^-{}\\|".includes(character) ? `\\${character}` : character;
}
