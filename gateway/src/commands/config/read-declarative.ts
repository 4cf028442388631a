/** Reads a declarative file for the commands. */
import { readFile } from "node:fs/promises";
import {
  type Checked,
  checkEntity,
  collections,
  describeViolation,
  describeWarnings,
  type LoadedDocument,
  type LoadedText,
  type LoadOptions,
  loadText,
} from "@sluice/model";
import type { EntityLists } from "../../stores/read-all.ts";
import { CommandError } from "../command.ts";

export interface ReadDeclarativeOptions extends Pick<LoadOptions, "database"> {
  /** Called with a sentence for each warning. */
  readonly warn: (sentence: string) => void;
}

/** @throws CommandError with every error and its position. */
export async function readDeclarative(file: string, { warn, ...options }: ReadDeclarativeOptions): Promise<LoadedText> {
  const text = await readFile(file, "utf8");
  const loaded = requireValid(file, loadText(text, { ...options, file }));
  for (const sentence of describeWarnings(loaded.warnings)) warn(sentence);
  return loaded;
}

/** @throws CommandError with every error and its position. */
export function requireValid<Value>(file: string, { value, violations }: Checked<Value>): Value {
  if (!violations) return value;
  const count = violations.length === 1 ? "1 error" : `${violations.length} errors`;
  throw new CommandError(`${file} has ${count}:`, violations.map(describeViolation));
}

/** The entities of a valid document, with defaults filled in. Members under `_sluice` are left out: stores cannot hold them. */
export function entitiesOf({ document }: Pick<LoadedDocument, "document">): EntityLists {
  const lists = collections.map((collection) => [
    collection,
    (document[collection] ?? []).flatMap((item) => {
      const { _sluice: _, ...entity } = Object(checkEntity(collection, item, { database: true }).value);
      return [entity];
    }),
  ]);
  return Object.fromEntries(lists);
}
