/** Maps the methods of an endpoint to operations. */
import { type Collection, collections } from "@sluice/model";
import type { AdminContext } from "../context.ts";
import { parseBooleanOption } from "../http/boolean-option.ts";
import { decodeBody } from "../http/decode-body.ts";
import { readPreconditions } from "../http/preconditions.ts";
import type {
  AdminRequest,
  AdminResponse,
  EntityOperations,
  EntityReader,
  EntityRequest,
  PreparedWrite,
} from "../requests.ts";
import { performWrites } from "../writes/perform-writes.ts";
import { collectionOverrides } from "./collection-overrides.ts";
import { type AdminEndpoint, adminEndpoints } from "./endpoints.ts";
import { deriveOperations } from "./operations.ts";

export const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

/** A method without a handler is answered with 405. HEAD is handled as GET, and OPTIONS the same way for every URL. */
export type MethodHandlers = Partial<Record<Method, (received: AdminRequest) => Promise<AdminResponse>>>;

/** A URL of the admin listener, which may have parameters: `/services/:entity`. */
export interface AdminRoute {
  readonly url: string;
  readonly handlers: MethodHandlers;
}

export const operations = Object.fromEntries(
  collections.map((collection) => [collection, deriveOperations(collectionOverrides[collection])]),
) as Record<Collection, EntityOperations>;

type ReadHandler = (call: EntityRequest) => Promise<AdminResponse>;
export type WriteHandler = (call: EntityRequest) => Promise<PreparedWrite>;

export function writeHandlersOf({ kind, collection }: AdminEndpoint): Partial<Record<Method, WriteHandler>> {
  const { create, upsert, change, remove } = operations[collection];
  if (collection === "consumer_group_consumers")
    return kind === "list" ? { POST: create, DELETE: remove } : { DELETE: remove };
  return kind === "list" ? { POST: create } : { PUT: upsert, PATCH: change, DELETE: remove };
}

const readHandlerOf = ({ kind, collection }: AdminEndpoint): ReadHandler =>
  operations[collection][kind === "list" ? "list" : "show"];

export type EntityRouteOptions = Pick<AdminContext, "store" | "warnings" | "planOf">;

/** The URLs of all collections. */
export const entityRoutes = (options: EntityRouteOptions): readonly AdminRoute[] =>
  adminEndpoints.map((endpoint) => {
    const { store } = options;
    const read = readHandlerOf(endpoint);
    const writes = Object.entries(writeHandlersOf(endpoint)).map(([method, write]) => [
      method,
      (received: AdminRequest) => answerWrite(options, endpoint, { write, received }),
    ]);
    const GET = (received: AdminRequest) => read(callOf(received, { endpoint, store, taken: new Set() }));
    return { url: endpoint.url, handlers: { GET, ...Object.fromEntries(writes) } };
  });

async function answerWrite(
  { store, warnings, planOf }: EntityRouteOptions,
  endpoint: AdminEndpoint,
  { write, received }: { readonly write: WriteHandler; readonly received: AdminRequest },
): Promise<AdminResponse> {
  const plan = parseBooleanOption("dry_run", received.query.get("dry_run"));
  const force = parseBooleanOption("force", received.query.get("force"));
  const workOut = async (taken: ReadonlySet<string>) => [await write(callOf(received, { endpoint, store, taken }))];
  const { steps, effects, programmed } = await performWrites(store, workOut, {
    plan,
    force,
    author: received.author,
  });
  const headers = await warnings(effects.flat());
  if (plan) return { status: 200, headers, body: { dry_run: true, ...(await planOf(effects.flat())) } };
  const [[step], [own = []]] = [steps, effects];
  const answer: AdminResponse = (await step?.respond(own)) ?? { status: 204 };
  return { ...answer, headers: { ...answer.headers, ...headers }, ...(programmed && { programmed }) };
}

interface CallOptions {
  readonly endpoint: AdminEndpoint;
  readonly store: EntityReader;
  readonly taken: ReadonlySet<string>;
}

function callOf(received: AdminRequest, { endpoint, store, taken }: CallOptions): EntityRequest {
  const { params, path, query, headers, bytes } = received;
  const body = { contentType: headers["content-type"], bytes };
  return {
    store,
    endpoint,
    params,
    path,
    query,
    body: (hint) => decodeBody(body, endpoint.collection, hint),
    preconditions: readPreconditions(headers),
    takenIds: taken,
    extraViolations: [],
  };
}
