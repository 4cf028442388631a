/** `sluice rollback`: restores the state of an earlier revision, as a write that is planned first. */
import type { ChangePlan } from "../../../admin/plan/plan.ts";
import { clientSettings } from "../../../settings/client.ts";
import { isConfirmed } from "../../ask.ts";
import { CommandError, defineCommand } from "../../command.ts";
import { RefusedByAdminApi, withAdmin } from "../admin-connection.ts";
import { doneText, hasNoChanges, planText } from "../plan-text.ts";
import { revisionNumber, withoutRevisions } from "./revision-number.ts";

const PRECONDITION_FAILED = 412;

export const rollbackCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const number = revisionNumber(positionals[0] ?? "");
    const force = options.force === true ? "&force=1" : "";
    const { progress } = call;
    return withAdmin(call, (admin) =>
      withoutRevisions(async () => {
        progress.show(`planning the rollback to revision ${number}`);
        const { body: plan, etag } = await admin.write<ChangePlan>(
          `/revisions/${number}/rollback?dry_run=1${force}`,
          {},
        );
        call.print(planText(plan));
        if (hasNoChanges(plan)) return 0;
        if (options.yes !== true && !(await isConfirmed(`Roll back to revision ${number}?`))) {
          call.print("nothing was changed\n");
          return 1;
        }
        progress.show("writing the changes, and waiting for the nodes");
        const written = admin.write<ChangePlan>(`/revisions/${number}/rollback?dry_run=0${force}`, {}, { etag });
        const { body, warnings } = await written.catch(explainChange);
        call.print(`rolled back: ${doneText(body)}\n`);
        for (const warning of warnings) call.log.warn(warning);
        return 0;
      }),
    );
  },
});

/** @throws CommandError */
function explainChange(error: Error): never {
  if (!(error instanceof RefusedByAdminApi) || error.status !== PRECONDITION_FAILED) throw error;
  throw new CommandError("the configuration has changed since the plan, and nothing was written: repeat the command");
}
