/** `sluice plan`, `diff` and `apply`: compare the configuration with a file or folder, or change it to match. */
import { type ClientFileSettings, clientFileSettings } from "../../settings/commands/client.ts";
import { type CommandCall, defineCommand, UsageError } from "../command.ts";
import { writeNew } from "../config/subcommand.ts";
import { formatData } from "../terminal/output.ts";
import { type AdminConnection, withAdmin } from "./admin-connection.ts";
import { carryOutChanges } from "./carry-out.ts";
import { differenceText, hasNoChanges, planText } from "./plan-text.ts";
import { applyPlanned, type PlannedDocument, planDocument, readPlanned } from "./planned-document.ts";

type Call = CommandCall<ClientFileSettings>;

function planFile(admin: AdminConnection, { settings, given, log, progress }: Call): Promise<PlannedDocument> {
  const path = String(given.options.file);
  progress.show(`planning ${path}`);
  return planDocument(admin, {
    settings,
    path,
    keep: given.options.prune !== true,
    warn(sentence) {
      progress.clear();
      log.warn(sentence);
    },
  });
}

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

/** The exit code if there is a difference, as for diff and `kubectl diff`. */
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
    return hasNoChanges(plan) ? 0 : DIFFERENT;
  },
});

export const applyCommand = defineCommand({
  settings: clientFileSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const [saved] = positionals;
    if ((saved === undefined) === (options.file === undefined))
      throw new UsageError("name a saved PLAN, or give --file");
    if (saved !== undefined && options.prune === true)
      throw new UsageError("--prune cannot be combined with a saved plan: give it to sluice plan");
    return withAdmin(call, async (admin) => {
      const planned = saved === undefined ? await planFile(admin, call) : await readPlanned(saved);
      return carryOutChanges(call, {
        plan: planned.plan,
        // The caller has already seen a saved plan.
        question: saved === undefined ? "Apply this plan?" : null,
        write: () => applyPlanned(admin, planned, options.force === true),
        done: "applied",
      });
    });
  },
});
