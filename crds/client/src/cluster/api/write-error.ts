/** Maps errors of writes to the errors that callers handle. */
import { Conflict, Rejected } from "../../resource.ts";
import { ApiServerError } from "./api-server-error.ts";

/**
 * Conflict for 409; Rejected for a write that cannot succeed until the object, the permissions or the cluster change.
 * The API server's message is kept, since a 403 names verb and resource. Other errors stay as they are.
 */
export function writeErrorOf(error: unknown, expect: "absent" | object | undefined): unknown {
  if (!(error instanceof ApiServerError)) return error;
  if (error.code === 409) return conflictOf(error, expect);
  // The API server's response to an apply with a member that is not in the schema (seen on 1.36).
  const isUntyped = error.code === 500 && error.message.startsWith("failed to create typed patch object");
  return isUntyped || rejections.has(error.code) ? new Rejected(error.message) : error;
}

const rejections: ReadonlySet<number> = new Set([400, 403, 404, 405, 413, 422]);

function conflictOf(fault: ApiServerError, expect: "absent" | object | undefined): Conflict {
  const owners = (fault.status.details?.causes ?? [])
    .filter(({ reason }) => reason === "FieldManagerConflict")
    .map(({ message, field }) => ({ manager: managerOf(message ?? ""), field: field ?? "" }));
  if (expect === "absent" || fault.status.reason === "AlreadyExists") return new Conflict("exists", fault.message);
  return owners.length > 0 ? new Conflict("owned", fault.message, owners) : new Conflict("changed", fault.message);
}

/** `conflict with "kubectl-client-side-apply" using apps/v1 at 2026-...` */
function managerOf(message: string): string {
  return /^conflicts? with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message;
}
