/** `sluice rollback`: restores the state of an earlier revision, as a write that is planned first. */
import type { ChangePlan } from "../../../admin/plan/plan.ts";
import { clientSettings } from "../../../settings/commands/client.ts";
import { defineCommand } from "../../command.ts";
import { withAdmin } from "../admin-connection.ts";
import { carryOutChanges } from "../carry-out.ts";
import { revisionNumber, withoutRevisions } from "./revision-number.ts";

export const rollbackCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const { positionals, options } = call.given;
    const number = revisionNumber(positionals[0] ?? "");
    const force = options.force === true ? "&force=1" : "";
    return withAdmin(call, (admin) =>
      withoutRevisions(async () => {
        call.progress.show(`planning the rollback to revision ${number}`);
        const { body: plan, etag } = await admin.write<ChangePlan>(
          `/revisions/${number}/rollback?dry_run=1${force}`,
          {},
        );
        return carryOutChanges(call, {
          plan,
          question: `Roll back to revision ${number}?`,
          write: () => admin.write<ChangePlan>(`/revisions/${number}/rollback?dry_run=0${force}`, {}, { etag }),
          done: "rolled back",
        });
      }),
    );
  },
});
