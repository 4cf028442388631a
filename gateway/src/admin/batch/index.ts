/**
 * POST /batch: performs and publishes all writes of the body, or none of them.
 *
 * The body is `{ "writes": [{ "method": "PUT", "path": "/services/x", "body": { … } }, …] }`; each write sees the
 * earlier ones. The response lists the entities created, changed and deleted; with `?dry_run=1` nothing is written.
 */

import { type AdminEndpoint, adminEndpoints } from "../entities/endpoints.ts";
import { type AdminRoute, type EntityRouteOptions, type Method, writeHandlersOf } from "../entities/routes.ts";
import { parseBooleanOption } from "../http/boolean-option.ts";
import { decodeJson, type RawMembers } from "../http/decode-body.ts";
import { badRequest, HttpError, methodNotAllowed, notFound } from "../http/errors.ts";
import { readPreconditions } from "../http/preconditions.ts";
import { summaryOf } from "../plan/plan.ts";
import type { AdminRequest, AdminResponse, EntityReader, EntityRequest, PreparedWrite } from "../requests.ts";
import { performWrites } from "../writes/perform-writes.ts";
import { createOverlay } from "./overlay.ts";

const MAX_WRITES = 5000;
const BOUNDS = { depth: 70, values: 500_000 };

export const batchRoutes = (options: EntityRouteOptions): readonly AdminRoute[] => [
  { url: "/batch", handlers: { POST: (received) => answer(options, received) } },
];

interface BatchItem {
  readonly method: Method;
  readonly path: string;
  readonly body: RawMembers;
  /** Has the effect that the header If-Match has on a single write. */
  readonly ifMatch: string | undefined;
}

async function answer(
  { store, warnings, planOf }: EntityRouteOptions,
  { headers, bytes, query, author }: AdminRequest,
): Promise<AdminResponse> {
  const items = itemsOf(decodeJson({ contentType: headers["content-type"], bytes }, BOUNDS));
  const [plan, force] = [
    parseBooleanOption("dry_run", query.get("dry_run")),
    parseBooleanOption("force", query.get("force")),
  ];
  const workOut = (taken: ReadonlySet<string>) => prepareAll(store, items, taken);
  const mapError = (error: HttpError, { item }: BatchStep) => withWriteIndex(error, items, item);
  const { effects, programmed } = await performWrites(store, workOut, { plan, force, author, mapError });
  const warned = await warnings(effects.flat());
  if (plan) {
    return { status: 200, headers: warned, body: { dry_run: true, ...(await planOf(effects.flat())) } };
  }
  const body = { dry_run: false, ...summaryOf(effects.flat()) };
  return { status: 200, headers: warned, body, ...(programmed && { programmed }) };
}

interface BatchStep extends PreparedWrite {
  /** The index of the write in the batch. */
  readonly item: number;
}

async function prepareAll(store: EntityReader, items: readonly BatchItem[], taken: ReadonlySet<string>) {
  const overlay = createOverlay(store);
  const steps: BatchStep[] = [];
  for (const [item, { method, path, body, ifMatch }] of items.entries()) {
    try {
      const matched = matchEndpoint(path);
      if (!matched) throw notFound();
      const { endpoint, params } = matched;
      const write = writeHandlersOf(endpoint)[method];
      if (!write) throw methodNotAllowed();
      const call: EntityRequest = {
        store: overlay,
        endpoint,
        params,
        path,
        query: new URLSearchParams(),
        body: () => body,
        preconditions: readPreconditions(ifMatch === undefined ? {} : { "if-match": ifMatch }),
        takenIds: taken,
        extraViolations: [],
      };
      const step = await write(call);
      await overlay.apply(step.writes);
      steps.push({ ...step, item });
    } catch (error) {
      throw error instanceof HttpError ? withWriteIndex(error, items, item) : error;
    }
  }
  return steps;
}

/**
 * Adds the number of the failed write to the message of its error, and the index as `write`. A 405 for the write's
 * method becomes 400, because the method of the batch request is allowed.
 */
function withWriteIndex({ status, body }: HttpError, items: readonly BatchItem[], index: number): HttpError {
  const { method, path } = items[index] ?? { method: "", path: "" };
  const message = `write ${index + 1} of ${items.length} (${method} ${path}): ${body.message}`;
  return new HttpError(status === 405 && body.code === undefined ? 400 : status, { ...body, message, write: index });
}

const MAX_PATH = 8192;

function pathFault(path: unknown): string | undefined {
  if (typeof path !== "string" || !path.startsWith("/")) return "should start with: /";
  if (path.includes("?")) return "must not have a query: set dry_run and force in the query of the batch itself";
  return path.length > MAX_PATH ? `length must be at most ${MAX_PATH}` : undefined;
}

const methods: ReadonlySet<unknown> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

function itemsOf({ writes }: RawMembers): readonly BatchItem[] {
  if (!Array.isArray(writes) || writes.length === 0) throw badRequest("writes: expected a list of writes");
  if (writes.length > MAX_WRITES) throw badRequest(`writes: at most ${MAX_WRITES} at a time, not ${writes.length}`);
  const faults: string[] = [];
  const items = writes.map((item: unknown, index) => {
    const { method, path, body = {}, if_match: ifMatch, ...rest } = Object(item) as Record<string, unknown>;
    const at = `writes.${index + 1}`;
    if (!methods.has(method)) faults.push(`${at}.method: expected one of: POST, PUT, PATCH, DELETE`);
    const fault = pathFault(path);
    if (fault !== undefined) faults.push(`${at}.path: ${fault}`);
    if (typeof body !== "object" || body === null || Array.isArray(body)) faults.push(`${at}.body: expected a record`);
    if (ifMatch !== undefined && typeof ifMatch !== "string") faults.push(`${at}.if_match: expected a string`);
    for (const name of Object.keys(rest)) faults.push(`${at}.${name}: unknown field`);
    return { method, path, body, ifMatch } as BatchItem;
  });
  if (faults.length > 0) throw badRequest(faults.slice(0, 100).join("; "));
  return items;
}

const patterns = adminEndpoints.map((endpoint) => ({ endpoint, steps: endpoint.url.split("/").slice(1) }));

/** The endpoint of a path, with the path's decoded parameters. Undefined: no such path, or invalid percent-encoding. */
function matchEndpoint(path: string): { endpoint: AdminEndpoint; params: Record<string, string> } | undefined {
  const segments = path.replace(/\/$/, "").split("/").slice(1);
  for (const { endpoint, steps } of patterns) {
    if (steps.length !== segments.length) continue;
    const params: Record<string, string> = {};
    const isMatch = steps.every((step, index) => {
      const segment = segments[index] ?? "";
      if (!step.startsWith(":")) return step === segment;
      const decoded = decode(segment);
      if (decoded === undefined || decoded === "") return false;
      params[step.slice(1)] = decoded;
      return true;
    });
    if (isMatch) return { endpoint, params };
  }
  return undefined;
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
