/** `sluice config convert`: converts between Kong's declarative file and custom resources. */
import { stat } from "node:fs/promises";
import { describeViolation, entityNameOf, type Violation } from "@sluice/model";
import { declarativeText } from "../../stores/file/export.ts";
import { type EntityLists, entitiesOf } from "../../stores/read-all.ts";
import { CommandError, UsageError } from "../command.ts";
import { readFolder, writeFolder } from "./resource-folder.ts";
import { type ConfigCall, type ConfigSubcommand, readDeclarative, writeNew } from "./subcommand.ts";
import { type EntityFaults, toResources } from "./to-resources.ts";

export const convertConfig: ConfigSubcommand = async (call) => {
  const [from = ""] = call.given.positionals;
  const { to, out } = call.given.options;
  if (out === "") throw new UsageError("--out must name a file or folder");
  await (to === "declarative" ? toDeclarative : toCustomResources)(
    from,
    typeof out === "string" ? out : undefined,
    call,
  );
};

/** @param out Undefined: standard output. */
async function toCustomResources(from: string, out: string | undefined, call: ConfigCall) {
  const { settings, log, print, progress } = call;
  if ((await stat(from)).isDirectory()) throw new CommandError(`${from} is a folder: name the declarative file`);
  const loaded = await readDeclarative(from, { warn: (sentence) => log.warn(sentence) });
  await writeResources(entitiesOf(loaded.document), {
    from,
    out,
    settings,
    print,
    progress,
    describe({ collection, entity }, { path, message }) {
      const at = (loaded.document[collection] ?? []).findIndex((item) => Object(item).id === entity.id);
      const inFile = [...(loaded.origins[collection][at] ?? []), ...path];
      return describeViolation({ path: inFile, message, position: loaded.positionOf(inFile) });
    },
  });
}

interface WriteResourcesOptions extends Pick<ConfigCall, "print" | "progress"> {
  readonly settings: Pick<ConfigCall["settings"], "class" | "homeNamespace">;
  /** The file or admin URL from which the entities were read, for messages. */
  readonly from: string;
  /** Undefined: standard output. */
  readonly out: string | undefined;
  /** Returns the sentence about a violation; by default, with the entity's collection and its name or id. */
  readonly describe?: (at: Pick<EntityFaults, "collection" | "entity">, violation: Violation) => string;
}

/**
 * Writes entities as custom resources.
 *
 * @throws CommandError for entities that custom resources cannot express, or when one of the files exists.
 */
export async function writeResources(
  lists: EntityLists,
  { settings, from, out, print, progress, describe = describeByName }: WriteResourcesOptions,
): Promise<void> {
  const { resources, faults } = toResources(lists, {
    namespace: settings.homeNamespace,
    class: settings.class === "sluice" ? undefined : settings.class,
  });
  if (faults.length > 0) {
    const sentences = faults.flatMap((fault) => fault.violations.map((violation) => describe(fault, violation)));
    throw new CommandError(`${from} contains entities that custom resources cannot express:`, sentences);
  }
  await writeFolder(resources, { folder: out, print, progress });
}

const describeByName: NonNullable<WriteResourcesOptions["describe"]> = ({ collection, entity }, { path, message }) =>
  `${collection}/${describeViolation({ path: [entityNameOf(collection, entity) ?? entity.id, ...path], message })}`;

async function toDeclarative(from: string, out: string | undefined, { settings, log, print }: ConfigCall) {
  const { homeNamespace, class: ofClass } = settings;
  const lists = await readFolder(from, { homeNamespace, class: ofClass, warn: (sentence) => log.warn(sentence) });
  const text = declarativeText(lists);
  if (out === undefined) return print(text);
  await writeNew(out, text);
  print(`${out} is written\n`);
}
