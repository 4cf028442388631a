/** What the pages of docs/how-to tell a person to type. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const folder = resolve(import.meta.dirname, "../../../docs/how-to");

/** The blocks of commands in one section of a page, in their order. */
export function blocksOf(page: string, section: string): readonly string[] {
  const [, body = ""] = readFileSync(join(folder, page), "utf8").split(`\n## ${section}\n`);
  const [part = ""] = body.split("\n## ");
  return [...part.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands = ""]) => commands);
}
