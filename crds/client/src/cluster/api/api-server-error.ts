/** Error responses of the API server, and their meaning for writers. */
import { Conflict, ResourceRejected } from "../../resource.ts";

/** The parts of metav1.Status that are read. */
export interface ApiStatus {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly name?: string;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
  };
}

/** A response with status 400 or above, or an ERROR event of a watch. */
export class ApiServerError extends Error {
  override readonly name = "ApiServerError";
  readonly code: number;
  readonly status: ApiStatus;
  /** The delay that the server asks for in Retry-After, in milliseconds; undefined: none. */
  readonly retryAfter: number | undefined;
  constructor(code: number, status: ApiStatus, retryAfter?: number) {
    super(status.message ?? `the API server answered ${code}`);
    this.code = code;
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** Whether the error says that the object does not exist. False when the server does not know the kind or path. */
  get isObjectAbsent(): boolean {
    return this.code === 404 && this.status.reason === "NotFound" && this.status.details?.name !== undefined;
  }
}

/**
 * Builds the error from a response. A body that is not a Status (such as `404 page not found`) is quoted in the
 * message.
 */
export function apiServerErrorOf(answer: {
  code: number;
  body: string;
  retryAfter?: string;
  request: string;
}): ApiServerError {
  const seconds = Number(answer.retryAfter);
  const retryAfter = answer.retryAfter !== undefined && seconds >= 0 ? seconds * 1000 : undefined;
  return new ApiServerError(answer.code, statusOf(answer), retryAfter);
}

function statusOf({ code, body, request }: { code: number; body: string; request: string }): ApiStatus {
  try {
    const value: unknown = JSON.parse(body);
    if (typeof value === "object" && value !== null && "message" in value) return value as ApiStatus;
  } catch {
    // Not every response is JSON; the message below quotes the body.
  }
  return { code, message: `${request}: the API server answered ${code} ${body.trim().slice(0, 200)}`.trimEnd() };
}

/**
 * Returns a Conflict for 409, and Rejected for a write that cannot succeed until the object, the permissions or the
 * cluster change. The API server's message is kept, because that of a 403 names the verb and the resource. Other errors
 * stay as they are.
 */
export function writeErrorOf(error: unknown, expect: "absent" | object | undefined): unknown {
  if (!(error instanceof ApiServerError)) return error;
  if (error.code === 409) return conflictOf(error, expect);
  // The response of built-in kinds to the uid of another object; custom resources are answered 409.
  if (error.code === 422 && error.status.details?.causes?.some(({ field }) => field === "metadata.uid"))
    return new Conflict("changed", error.message);
  // The API server's response to an apply with a member that is not in the schema (seen on 1.36).
  const isUntyped = error.code === 500 && error.message.startsWith("failed to create typed patch object");
  return isUntyped || rejections.has(error.code) ? new ResourceRejected(error.message) : error;
}

const rejections: ReadonlySet<number> = new Set([400, 403, 404, 405, 413, 422]);

function conflictOf(fault: ApiServerError, expect: "absent" | object | undefined): Conflict {
  const owners = (fault.status.details?.causes ?? [])
    .filter(({ reason }) => reason === "FieldManagerConflict")
    .map(({ message, field }) => ({ manager: managerOf(message ?? ""), field: field ?? "" }));
  if (expect === "absent" || fault.status.reason === "AlreadyExists") return new Conflict("exists", fault.message);
  return owners.length > 0 ? new Conflict("owned", fault.message, owners) : new Conflict("changed", fault.message);
}

/**
 * The manager that a message names, such as `conflict with "kubectl-client-side-apply" using apps/v1 at 2026-...`; the
 * whole message if it names none.
 */
function managerOf(message: string): string {
  return /^conflicts? with "((?:[^"\\]|\\.)*)"/.exec(message)?.[1] ?? message;
}
