/** Custom resources as files of a folder, or as one text. */
import { mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { printResource, type Resource } from "@sluice/crds";
import { CommandError } from "../command.ts";
import { writeNew } from "./write-new.ts";

export interface WriteFolderOptions {
  /** Undefined: all resources are printed as one text for `kubectl apply -f -`. */
  readonly folder: string | undefined;
  readonly print: (text: string) => void;
}

/** @throws CommandError when one of the files exists; then no file is written. */
export async function writeFolder(
  resources: readonly Resource[],
  { folder, print }: WriteFolderOptions,
): Promise<void> {
  if (folder === undefined) return print(resources.map(printResource).join("---\n"));
  const files = resources.map((resource) => ({ resource, file: join(folder, fileOf(resource)) }));
  const there = await Promise.all(files.map(({ file }) => stat(file).then(() => [file], absent)));
  const taken = there.flat();
  if (taken.length > 0) throw new CommandError("these files already exist and are not overwritten:", taken);
  for (const { resource, file } of files) {
    await mkdir(dirname(file), { recursive: true });
    await writeNew(file, printResource(resource), resource.kind === "Secret" ? 0o600 : 0o644);
  }
  print(`${files.length} resources are written to ${folder}\n`);
}

/** The layout of the directory store. */
const fileOf = ({ kind, metadata: { name } }: Resource): string => join(kind.toLowerCase(), `${name}.yaml`);

function absent(error: { readonly code?: unknown }): readonly string[] {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return [];
  throw error;
}
