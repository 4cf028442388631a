/** Carries out a plan of `apply` or `rollback`, after showing it. */
import type { ChangePlan } from "../../admin/plan/plan.ts";
import { isConfirmed } from "../ask.ts";
import { CommandError } from "../command.ts";
import { type ClientCall, RefusedByAdminApi, type WrittenResponse } from "./admin-connection.ts";
import { doneText, hasNoChanges, planText } from "./plan-text.ts";

const PRECONDITION_FAILED = 412;

interface PlannedChange {
  readonly plan: ChangePlan;
  /** Asked before the write, unless the user gives --yes; null: the user has already agreed to the plan. */
  readonly question: string | null;
  /** Writes the changes if the configuration is still that of the plan. */
  readonly write: () => Promise<WrittenResponse<ChangePlan>>;
  /** Precedes the counts of the changes, such as `applied`. */
  readonly done: string;
}

/** Resolves to the exit code. @throws CommandError if the configuration has changed since the plan was made. */
export async function carryOutChanges(
  { given, print, progress, log }: ClientCall,
  { plan, question, write, done }: PlannedChange,
): Promise<number> {
  print(planText(plan));
  if (hasNoChanges(plan)) return 0;
  if (question !== null && given.options.yes !== true && !(await isConfirmed(question))) {
    print("nothing was changed\n");
    return 1;
  }
  progress.show("writing the changes, and waiting for the nodes");
  const { body, warnings } = await write().catch(explainConflict);
  print(`${done}: ${doneText(body)}\n`);
  for (const warning of warnings) log.warn(warning);
  return 0;
}

function explainConflict(error: Error): never {
  if (!(error instanceof RefusedByAdminApi) || error.status !== PRECONDITION_FAILED) throw error;
  throw new CommandError("the configuration has changed since the plan, and nothing was written: plan again");
}
