/** Custom resources as files of a folder, or as one text. */
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  formatPath,
  locatePath,
  type ParsedResource,
  type Path,
  parseResources,
  printResource,
  type Resource,
} from "@sluice/crds";
import type { EntityLists } from "../../stores/read-all.ts";
import { CommandError } from "../command.ts";
import type { Progress } from "../terminal/progress.ts";
import { type FromResourcesOptions, fromResources } from "./from-resources.ts";
import { leftOutSentences } from "./left-out.ts";
import { writeNew } from "./subcommand.ts";

interface ReadFolderOptions extends FromResourcesOptions {
  /** Called with sentences about resources that are left out. */
  readonly warn: (sentence: string) => void;
}

/** Reads the entities of a folder, or of one file. @throws CommandError with every error and its position. */
export async function readFolder(path: string, { warn, ...options }: ReadFolderOptions): Promise<EntityLists> {
  const origins = new Map<Resource, ParsedResource & { readonly file: string; readonly text: string }>();
  const faults: string[] = [];
  for (const file of await filesOf(path)) {
    const text = await readFile(file, "utf8");
    const parsed = parseResources(text);
    faults.push(...parsed.faults.map(({ line, column, message }) => `${file}:${line}:${column}: ${message}`));
    for (const one of parsed.resources) origins.set(one.content, { ...one, file, text });
  }
  const read = fromResources([...origins.keys()], options);
  const placeOf = (resource: Resource, member: Path = []): string => {
    const origin = origins.get(resource);
    if (!origin) throw new Error("a resource that is in no file");
    const { line, column } = locatePath(origin.text, origin.document, member);
    return `${origin.file}:${line}:${column}`;
  };
  for (const { resource, path, message } of read.faults ?? [])
    faults.push(`${placeOf(resource, path)}: ${formatPath(path)}: ${message}`);
  if (faults.length > 0 || !read.lists) throw new CommandError(`${path} cannot be converted:`, faults);
  for (const sentence of leftOutSentences(read.leftOut, placeOf)) warn(sentence);
  return read.lists;
}

/**
 * The YAML and JSON files below a folder, sorted; for the path of a file, that file. As in the directory store, hidden
 * files and folders are skipped.
 */
export async function filesOf(path: string): Promise<readonly string[]> {
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

interface WriteFolderOptions {
  /** Undefined: all resources are printed as one text for `kubectl apply -f -`. */
  readonly folder: string | undefined;
  /** The path of a resource's file below the folder. Default: as in the directory store, by kind. */
  readonly fileOf?: (resource: Resource) => string;
  readonly print: (text: string) => void;
  readonly progress: Progress;
}

/** @throws CommandError when a file that would be written exists; in that case no file is written. */
export async function writeFolder(
  resources: readonly Resource[],
  { folder, print, progress, fileOf = fileByKind }: WriteFolderOptions,
): Promise<void> {
  if (folder === undefined) return print(resources.map(printResource).join("---\n"));
  const files = resources.map((resource) => ({ resource, file: join(folder, fileOf(resource)) }));
  const there = await Promise.all(files.map(({ file }) => stat(file).then(() => [file], absent)));
  const taken = there.flat();
  if (taken.length > 0) throw new CommandError("these files already exist and are not overwritten:", taken);
  for (const [index, { resource, file }] of files.entries()) {
    progress.show(`writing ${index + 1} of ${files.length} resources`);
    await mkdir(dirname(file), { recursive: true });
    await writeNew(file, printResource(resource), resource.kind === "Secret" ? 0o600 : 0o644);
  }
  print(`${files.length} resources are written to ${folder}\n`);
}

const fileByKind = ({ kind, metadata: { name } }: Resource): string => join(kind.toLowerCase(), `${name}.yaml`);

function absent(error: { readonly code?: unknown }): readonly string[] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}
