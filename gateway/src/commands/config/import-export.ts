/** `sluice config import` and `export`: copy entities between a declarative file and a store. */
import { collections, describeViolation, entities, entityNameOf, type LoadedText } from "@sluice/model";
import { adoptIds, writesBetween } from "../../stores/difference.ts";
import { declarativeText } from "../../stores/file/export.ts";
import { openStore } from "../../stores/open.ts";
import { scryptPassword, withHashedPasswords } from "../../stores/passwords.ts";
import { entitiesOf, readAll } from "../../stores/read-all.ts";
import type { Write, WriteFault } from "../../stores/store.ts";
import { CommandError } from "../command.ts";
import { type ConfigSubcommand, readDeclarative, storeSettings, writeNew } from "./subcommand.ts";

/** The author of the revision that an import records. */
const AUTHOR = "sluice config import";

/** Creates or updates the entities of a declarative file in a store. Deletes nothing. */
export const importFile: ConfigSubcommand = async ({ given, settings, log, print, progress }) => {
  const [file = ""] = given.positionals;
  const loaded = await readDeclarative(file, {
    database: settings.store === "database",
    warn: (sentence) => log.warn(sentence),
  });
  const wanted = entitiesOf(loaded.document);
  const opened = await openStore(storeSettings(settings), log);
  try {
    progress.show("reading the store");
    const before = await readAll(opened.store);
    const passwords = wanted.basicauth_credentials?.length ?? 0;
    if (passwords > 0) progress.show(`hashing ${passwords} passwords`);
    const hashed = await withHashedPasswords(before, adoptIds(before, wanted), ({ password }) =>
      scryptPassword(password),
    );
    const writes = writesBetween(before, hashed, { now: Math.floor(Date.now() / 1000), keep: true });
    if (writes.length > 0) {
      progress.show(`writing ${writes.length} entities`);
      const outcome = await opened.store.write(writes, { author: AUTHOR });
      if (outcome.fault) throw refusal(file, { loaded, fault: outcome.fault, write: writes[outcome.index] });
    }
    print(report(writes, (collection) => wanted[collection]?.length ?? 0));
  } finally {
    await opened.close();
  }
};

/** Number of characters that the report needs for the longest name of a collection and a space. */
const WIDTH = Math.max(...collections.map((collection) => collection.length)) + 1;

function report(writes: readonly Write[], given: (collection: Write["collection"]) => number): string {
  const lines = collections.flatMap((collection) => {
    const count = (op: Write["op"]) => writes.filter((one) => one.op === op && one.collection === collection).length;
    const [created, changed] = [count("create"), count("replace")];
    const unchanged = given(collection) - created - changed;
    if (given(collection) === 0) return [];
    return [`  ${collection.padEnd(WIDTH)}${created} created, ${changed} changed, ${unchanged} unchanged\n`];
  });
  return `import successful\n${lines.join("")}`;
}

interface Refusal {
  readonly loaded: LoadedText;
  readonly fault: WriteFault;
  readonly write: Write | undefined;
}

function refusal(file: string, { loaded, fault, write }: Refusal): CommandError {
  const path = write && write.op !== "remove" ? pathOf(loaded, write) : undefined;
  const sentences = describeFault(fault);
  const faults = sentences.map((message) =>
    path ? describeViolation({ path, message, position: loaded.positionOf(path) }) : message,
  );
  return new CommandError(`${file} is not imported, and nothing was written:`, faults);
}

/**
 * The path of a written entity in the file. Undefined: the file does not contain it. The entity is found by its id, or
 * by its name if the store has it under a different id.
 */
function pathOf({ document, origins }: LoadedText, { collection, entity }: Exclude<Write, { op: "remove" }>) {
  const items = (document[collection] ?? []) as readonly object[];
  const name = entityNameOf(collection, entity);
  const at = items.findIndex(
    (item) => Object(item).id === entity.id || (name !== undefined && entityNameOf(collection, item) === name),
  );
  return origins[collection][at];
}

function describeFault(fault: WriteFault): readonly string[] {
  switch (fault.kind) {
    case "primary-key":
      return [`the store has another entity with the id ${fault.id}`];
    case "unique":
      return [`the store has another entity with the same ${Object.keys(fault.members).join(" and ")}`];
    case "foreign-key":
      return [`${fault.member}: there is no ${entities[fault.to].singular} ${fault.id}`];
    case "referenced":
      return [`${fault.by} in the store refer to this ${entities[fault.collection].singular}`];
    case "invalid":
      return fault.violations.map(describeViolation);
    case "owned":
      return fault.owners.map(({ manager, field }) => `${fault.what}: ${manager} owns ${field}`);
    case "changed":
      return [`${fault.message}: try again`];
    case "read-only":
      return ["the store is read-only"];
  }
}

/** Writes all entities of a store as a declarative file. */
export const exportFile: ConfigSubcommand = async ({ given, settings, log, print }) => {
  const [file = "sluice.yml"] = given.positionals;
  const opened = await openStore(storeSettings({ ...settings, fileWritable: false }), log);
  try {
    const text = declarativeText(await readAll(opened.store));
    if (file === "-") return print(text);
    await writeNew(file, text);
    print(`${file} is written\n`);
  } finally {
    await opened.close();
  }
};
