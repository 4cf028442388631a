/** Numbers of revisions as arguments, and the error for a store without revisions. */
import { CommandError, UsageError } from "../../command.ts";
import { RefusedByAdminApi } from "../admin-connection.ts";

/** The exit code if the store keeps no revisions. */
const NO_REVISIONS = 3;

const NOT_IMPLEMENTED = 501;

/** @throws UsageError */
export function revisionNumber(given: string): number {
  if (!/^\d{1,15}$/.test(given)) throw new UsageError(`expected the number of a revision, not '${given}'`);
  return Number(given);
}

/** Runs requests for revisions. @throws CommandError with its own exit code if the store keeps no revisions. */
export async function withoutRevisions<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof RefusedByAdminApi) || error.status !== NOT_IMPLEMENTED) throw error;
    throw new CommandError(error.message, error.faults, NO_REVISIONS);
  }
}
