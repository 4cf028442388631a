/** Reads the entities from a folder of custom resources, or from one file of them. */
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { formatPath, locatePath, type ParsedResource, parseResources } from "@sluice/crds";
import type { EntityLists } from "../../stores/read-all.ts";
import { CommandError } from "../command.ts";
import { type FromResourcesOptions, fromResources } from "./from-resources.ts";

interface From extends ParsedResource {
  readonly file: string;
  readonly text: string;
}

/** @throws CommandError with every error and its position. */
export async function readFolder(path: string, options: FromResourcesOptions): Promise<EntityLists> {
  const held: { readonly from: From; readonly resource: ParsedResource["content"] }[] = [];
  const faults: string[] = [];
  for (const file of await filesOf(path)) {
    const text = await readFile(file, "utf8");
    const parsed = parseResources(text);
    faults.push(...parsed.faults.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`));
    held.push(...parsed.resources.map((one) => ({ from: { ...one, file, text }, resource: one.content })));
  }
  const read = fromResources(held, options);
  faults.push(
    ...(read.faults ?? []).map(({ from: { file, text, document }, path, message }) => {
      const { line, column } = locatePath(text, document, path);
      return `${file}:${line}:${column}: ${formatPath(path)}: ${message}`;
    }),
  );
  if (faults.length > 0 || !read.lists) throw new CommandError(`${path} cannot be converted:`, faults);
  return read.lists;
}

/** Sorted. Hidden files and folders are skipped, as in the directory store. */
async function filesOf(path: string): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const entries = (await readdir(path, { withFileTypes: true })).filter(({ name }) => !name.startsWith("."));
  const found = await Promise.all(
    entries.map(async (entry) => {
      const below = join(path, entry.name);
      if (entry.isDirectory()) return filesOf(below);
      return /\.(ya?ml|json)$/.test(entry.name) ? [below] : [];
    }),
  );
  return found.flat().sort();
}
