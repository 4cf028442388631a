/** Places in the declarative file: of errors, and of entities. */
import { type Collection, readYaml } from "@sluice/model";
import type { FileSource } from "../../sources/file/file-source.ts";
import type { EntityOrigin, StoreProblem } from "../store.ts";

/** In characters. Finding a line in a longer text would block the node of this process for too long. */
const MAXIMUM_LENGTH = 1_000_000;

/** The errors of a file that is not served. Each line of `failure` is one error. */
export const fileProblems = (failure: string | null): readonly StoreProblem[] =>
  (failure ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, place = null, message = line] = /^(\S+:\d+:\d+): (.*)$/.exec(line) ?? [];
      return { resource: null, entity: null, place, condition: null, reason: null, message, suggested: [] };
    });

interface Wanted {
  readonly collection: Collection;
  readonly id: string;
}

/** The line and column of an entity. Null: the file does not contain it. */
export function originInFile(
  file: string,
  { text, loaded }: NonNullable<ReturnType<FileSource["content"]>>,
  { collection, id }: Wanted,
): EntityOrigin | null {
  const { document, origins } = loaded();
  const index = (document[collection] ?? []).findIndex((item) => Object(item).id === id);
  if (index < 0) return null;
  const path = origins[collection][index];
  const read = path && text.length <= MAXIMUM_LENGTH ? readYaml(text, { file }) : undefined;
  if (!read?.value || !path) return { in: "file", place: file };
  const { line, column } = read.value.positionOf(path);
  return { in: "file", place: `${file}:${line}:${column}` };
}
