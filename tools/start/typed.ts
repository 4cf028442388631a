import { relative } from "node:path";

/** The path as a user in the current folder can type it in a shell. */
export function pathInShell(path: string): string {
  const short = relative(process.cwd(), path);
  const text = short === "" || short.startsWith("..") ? path : short;
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
