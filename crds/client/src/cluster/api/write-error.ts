/** Maps errors of writes to the errors that callers handle. */
import { Conflict, Rejected } from "../../resource.ts";
import type { ApiServerError } from "./api-server-error.ts";

/**
 * Conflict for 409; Rejected for a write that cannot succeed until the object, the permissions or the cluster change.
 * The API server's message is kept, since a 403 names verb and resource. Undefined: the error is not about the write.
 */
export function writeErrorOf(
  fault: ApiServerError,
  expect: "absent" | object | undefined,
): Conflict | Rejected | undefined {
  switch (fault.code) {
    case 409:
      return conflictOf(fault, expect);
    case 400:
    case 403:
    case 404:
    case 405:
    case 413:
    case 422:
      return new Rejected(fault.message);
    case 500:
      // The API server's response to an apply with a member that is not in the schema (seen on 1.36).
      return fault.message.startsWith("failed to create typed patch object") ? new Rejected(fault.message) : undefined;
    default:
      return undefined;
  }
}

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
