/** `sluice config convert`: between Kong's declarative file and custom resources. */
import { stat } from "node:fs/promises";
import { describeViolation } from "@sluice/model";
import { declarativeText } from "../../stores/file/export.ts";
import { CommandError, Misused } from "../command.ts";
import { entitiesOf, readDeclarative } from "./read-declarative.ts";
import { readFolder } from "./read-folder.ts";
import type { ConfigCall, ConfigSubcommand } from "./subcommand.ts";
import { toResources } from "./to-resources.ts";
import { writeFolder } from "./write-folder.ts";
import { writeNew } from "./write-new.ts";

interface Order {
  readonly from: string;
  readonly to: "custom-resources" | "declarative";
  /** Undefined: standard output. */
  readonly out: string | undefined;
}

const forms = ["custom-resources", "declarative"] as const;

export const convert: ConfigSubcommand = async (call) => {
  const [from = ""] = call.given.positionals;
  const { to: given, out } = call.given.options;
  const to = forms.find((form) => form === given);
  if (to === undefined) throw new Misused(`--to must be ${forms.join(" or ")}`);
  if (out === "") throw new Misused("--out must name a file or folder");
  const order = { from, to, out: typeof out === "string" ? out : undefined };
  await (to === "declarative" ? toDeclarative(order, call) : toCustomResources(order, call));
};

async function toCustomResources({ from, out }: Order, { settings, log, print }: ConfigCall): Promise<void> {
  if ((await stat(from)).isDirectory()) throw new CommandError(`${from} is a folder: name the declarative file`);
  const loaded = await readDeclarative(from, { warn: (sentence) => log.warn(sentence) });
  const ofClass = settings.class === "sluice" ? undefined : settings.class;
  const { resources, faults } = toResources(entitiesOf(loaded), { namespace: settings.homeNamespace, class: ofClass });
  if (faults.length > 0) {
    const told = faults.flatMap(({ collection, entity, violations }) => {
      const at = (loaded.document[collection] ?? []).findIndex((item) => Object(item).id === entity.id);
      const base = loaded.origins[collection][at] ?? [];
      return violations.map(({ path, message }) =>
        describeViolation({ path: [...base, ...path], message, position: loaded.positionOf([...base, ...path]) }),
      );
    });
    throw new CommandError(`${from} contains what custom resources cannot express:`, told);
  }
  await writeFolder(resources, { folder: out, print });
}

async function toDeclarative({ from, out }: Order, { settings, print }: ConfigCall): Promise<void> {
  const lists = await readFolder(from, { homeNamespace: settings.homeNamespace, class: settings.class });
  const text = declarativeText(lists);
  if (out === undefined) return print(text);
  await writeNew(out, text);
  print(`${out} is written\n`);
}
