/** `sluice plan`, `diff` and `apply`: change the configuration to that of a file or folder. */
import { createInterface } from "node:readline/promises";
import type { ChangePlan } from "../../admin/plan/plan.ts";
import { type ClientFileSettings, clientFileSettings } from "../../settings/client.ts";
import { type CommandCall, CommandError, defineCommand, Misused } from "../command.ts";
import { writeNew } from "../config/subcommand.ts";
import { formatData } from "../output.ts";
import { type AdminConnection, withAdmin } from "./admin-connection.ts";
import { differenceText, planText } from "./plan-text.ts";
import { applyPlanned, type PlannedDocument, planDocument, readPlanned } from "./planned-document.ts";

type Call = CommandCall<ClientFileSettings>;

const planFile = (admin: AdminConnection, { settings, given: { options }, log }: Call): Promise<PlannedDocument> =>
  planDocument(admin, {
    settings,
    path: String(options.file),
    keep: options.prune !== true,
    warn: (sentence) => log.warn(sentence),
  });

const isEmpty = ({ created, changed, deleted }: ChangePlan): boolean =>
  created.length + changed.length + deleted.length === 0;

export const planCommand = defineCommand({
  settings: clientFileSettings,
  ends: true,
  async run(call) {
    const { output, out } = call.given.options;
    const planned = await withAdmin(call, (admin) => planFile(admin, call));
    call.print(output === "yaml" || output === "json" ? formatData(output, planned.plan) : planText(planned.plan));
    if (typeof out === "string") await writeNew(out, `${JSON.stringify(planned)}\n`);
    return undefined;
  },
});

/** As for diff and `kubectl diff`: 1 if there is a difference. */
const DIFFERENT = 1;

export const diffCommand = defineCommand({
  settings: clientFileSettings,
  ends: true,
  failureCode: 3,
  async run(call) {
    const { output } = call.given.options;
    const { plan } = await withAdmin(call, (admin) => planFile(admin, call));
    const { requests: _, plan_id: _id, ...differences } = plan;
    call.print(output === "yaml" || output === "json" ? formatData(output, differences) : differenceText(plan));
    return isEmpty(plan) ? 0 : DIFFERENT;
  },
});

export const applyCommand = defineCommand({
  settings: clientFileSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const [saved] = positionals;
    if ((saved === undefined) === (options.file === undefined)) throw new Misused("name a saved PLAN, or give --file");
    if (saved !== undefined && options.prune === true) throw new Misused("--prune belongs to the command that plans");
    return withAdmin(call, async (admin) => {
      const planned = saved === undefined ? await planFile(admin, call) : await readPlanned(saved);
      call.print(planText(planned.plan));
      if (isEmpty(planned.plan)) return 0;
      // A saved plan has been seen before.
      if (saved === undefined && options.yes !== true && !(await isConfirmed())) {
        call.print("nothing was changed\n");
        return 1;
      }
      const { created, changed, deleted } = await applyPlanned(admin, planned, options.force === true);
      call.print(`applied: ${created.length} created, ${changed.length} changed, ${deleted.length} deleted\n`);
      return 0;
    });
  },
});

async function isConfirmed(): Promise<boolean> {
  if (!process.stdin.isTTY) throw new CommandError("cannot ask without a terminal: confirm with --yes");
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question("Apply this plan? [y/N] ")).trim());
  } finally {
    terminal.close();
  }
}
