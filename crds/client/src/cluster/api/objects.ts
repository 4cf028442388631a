/** Requests for single objects. */
import type { KindNames } from "../../kinds.ts";
import { Conflict } from "../../resource.ts";
import { ApiServerError } from "./api-server-error.ts";
import type { ClusterConnection } from "./connection.ts";

/** The path of a kind's resources: all of them, those of a namespace, or one. */
export function apiPath(
  { apiVersion, plural }: Pick<KindNames, "apiVersion" | "plural">,
  at: { namespace?: string; name?: string } = {},
): string {
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const namespace = at.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(at.namespace)}`;
  const name = at.name === undefined ? "" : `/${encodeURIComponent(at.name)}`;
  return `${root}${namespace}/${plural}${name}`;
}

/** Null: the object does not exist. */
export async function findObject<Found>(
  connection: ClusterConnection,
  path: string,
  signal?: AbortSignal,
): Promise<Found | null> {
  try {
    return (await connection.call({ method: "GET", path, signal })) as Found;
  } catch (error) {
    if (error instanceof ApiServerError && error.isObjectAbsent) return null;
    throw error;
  }
}

/** Null: the object already exists. */
export async function createObject<Created>(
  connection: ClusterConnection,
  path: string,
  { signal, ...body }: ObjectRequest,
): Promise<Created | null> {
  try {
    return (await connection.call({ method: "POST", path, body, signal })) as Created;
  } catch (error) {
    if (error instanceof ApiServerError && error.code === 409) return null;
    throw error;
  }
}

/** A merge patch. Rejects with a Conflict when the object is gone or does not have the version in `metadata`. */
export async function patchObject<Patched>(
  connection: ClusterConnection,
  path: string,
  { signal, ...body }: ObjectRequest,
): Promise<Patched> {
  try {
    const contentType = "application/merge-patch+json";
    return (await connection.call({ method: "PATCH", path, contentType, body, signal })) as Patched;
  } catch (error) {
    if (error instanceof ApiServerError && (error.code === 409 || error.isObjectAbsent))
      throw new Conflict("changed", error.message);
    throw error;
  }
}

/** The members of the object, and the signal of the call. */
interface ObjectRequest {
  readonly signal?: AbortSignal;
  readonly [member: string]: unknown;
}
