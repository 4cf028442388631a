/** `sluice config convert`: converts between Kong's declarative file and custom resources. */
import { stat } from "node:fs/promises";
import { describeViolation } from "@sluice/model";
import { declarativeText } from "../../stores/file/export.ts";
import { entitiesOf } from "../../stores/read-all.ts";
import { CommandError, Misused } from "../command.ts";
import { readFolder, writeFolder } from "./resource-folder.ts";
import { type ConfigCall, type ConfigSubcommand, readDeclarative, writeNew } from "./subcommand.ts";
import { toResources } from "./to-resources.ts";

const forms = ["custom-resources", "declarative"] as const;

export const convert: ConfigSubcommand = async (call) => {
  const [from = ""] = call.given.positionals;
  const { to: given, out } = call.given.options;
  const to = forms.find((form) => form === given);
  if (to === undefined) throw new Misused(`--to must be ${forms.join(" or ")}`);
  if (out === "") throw new Misused("--out must name a file or folder");
  await (to === "declarative" ? toDeclarative : toCustomResources)(
    from,
    typeof out === "string" ? out : undefined,
    call,
  );
};

/** @param out Undefined: standard output. */
async function toCustomResources(from: string, out: string | undefined, { settings, log, print }: ConfigCall) {
  if ((await stat(from)).isDirectory()) throw new CommandError(`${from} is a folder: name the declarative file`);
  const loaded = await readDeclarative(from, { warn: (sentence) => log.warn(sentence) });
  const ofClass = settings.class === "sluice" ? undefined : settings.class;
  const { resources, faults } = toResources(entitiesOf(loaded.document), {
    namespace: settings.homeNamespace,
    class: ofClass,
  });
  if (faults.length > 0) {
    const lines = faults.flatMap(({ collection, entity, violations }) => {
      const at = (loaded.document[collection] ?? []).findIndex((item) => Object(item).id === entity.id);
      const base = loaded.origins[collection][at] ?? [];
      return violations.map(({ path, message }) =>
        describeViolation({ path: [...base, ...path], message, position: loaded.positionOf([...base, ...path]) }),
      );
    });
    throw new CommandError(`${from} contains entities that custom resources cannot express:`, lines);
  }
  await writeFolder(resources, { folder: out, print });
}

async function toDeclarative(from: string, out: string | undefined, { settings, print }: ConfigCall) {
  const lists = await readFolder(from, { homeNamespace: settings.homeNamespace, class: settings.class });
  const text = declarativeText(lists);
  if (out === undefined) return print(text);
  await writeNew(out, text);
  print(`${out} is written\n`);
}
