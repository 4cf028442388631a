/** Which operation answers which method of an endpoint. */
import { type Collection, collections } from "@sluice/model";
import type { Store } from "../stores/store.ts";
import { decodeBody } from "./body.ts";
import type { Answer, Call, Reader, Received, Step } from "./call.ts";
import { certificates } from "./certificates.ts";
import { conditionsOf } from "./conditions.ts";
import { consumers } from "./consumers.ts";
import { credentials } from "./credentials.ts";
import { type Endpoint, endpoints } from "./endpoints.ts";
import { saysYes } from "./flag.ts";
import { deriveOperations, type Operations } from "./operations/index.ts";
import { perform } from "./perform.ts";
import { planOfWrites } from "./plan/index.ts";
import { plugins } from "./plugins.ts";
import { services } from "./services.ts";
import { targets } from "./targets.ts";
import type { WarningHeaders } from "./warnings.ts";

export const METHODS = ["GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"] as const;
export type Method = (typeof METHODS)[number];

/** A method without a handler is answered 405; HEAD is GET, and OPTIONS is the same everywhere. */
export type Handlers = Partial<Record<Method, (received: Received) => Promise<Answer>>>;

/** An URL of the admin listener; parameters as in `/services/:entity`. */
export interface Route {
  readonly url: string;
  readonly handlers: Handlers;
}

/** Collections that do something differently. */
const special: Partial<Record<Collection, (derived: Operations) => Partial<Operations>>> = {
  certificates,
  consumers,
  keyauth_credentials: credentials,
  plugins,
  services,
  targets,
};

export const operations = Object.fromEntries(
  collections.map((collection) => [collection, deriveOperations(special[collection])]),
) as Record<Collection, Operations>;

type Read = (call: Call) => Promise<Answer>;
export type Write = (call: Call) => Promise<Step>;

export function writesOf({ kind, collection }: Endpoint): Partial<Record<Method, Write>> {
  const { create, upsert, change, remove } = operations[collection];
  return kind === "list" ? { POST: create } : { PUT: upsert, PATCH: change, DELETE: remove };
}

const readOf = ({ kind, collection }: Endpoint): Read => operations[collection][kind === "list" ? "list" : "show"];

export interface WritingOptions {
  readonly store: Store;
  readonly warnings: WarningHeaders;
}

/** The URLs of all collections. */
export const entityRoutes = (options: WritingOptions): readonly Route[] =>
  endpoints.map((endpoint) => {
    const { store } = options;
    const read = readOf(endpoint);
    const writes = Object.entries(writesOf(endpoint)).map(([method, write]) => [
      method,
      (received: Received) => answerWrite(options, endpoint, { write, received }),
    ]);
    const GET = (received: Received) => read(callOf(received, { endpoint, store, taken: new Set() }));
    return { url: endpoint.url, handlers: { GET, ...Object.fromEntries(writes) } };
  });

async function answerWrite(
  { store, warnings }: WritingOptions,
  endpoint: Endpoint,
  { write, received }: { readonly write: Write; readonly received: Received },
): Promise<Answer> {
  const plan = saysYes("dry_run", received.query.get("dry_run"));
  const force = saysYes("force", received.query.get("force"));
  const workOut = async (taken: ReadonlySet<string>) => [await write(callOf(received, { endpoint, store, taken }))];
  const { steps, effects, programmed } = await perform(store, workOut, { plan, force });
  const headers = await warnings(effects.flat());
  if (plan) return { status: 200, headers, body: { dry_run: true, ...(await planOfWrites(store, effects.flat())) } };
  const [[step], [own = []]] = [steps, effects];
  const answer: Answer = (await step?.answer(own)) ?? { status: 204 };
  return { ...answer, headers: { ...answer.headers, ...headers }, ...(programmed && { programmed }) };
}

interface CallOptions {
  readonly endpoint: Endpoint;
  readonly store: Reader;
  readonly taken: ReadonlySet<string>;
}

function callOf(received: Received, { endpoint, store, taken }: CallOptions): Call {
  const { params, path, query, headers, bytes } = received;
  const body = { contentType: headers["content-type"], bytes };
  return {
    store,
    endpoint,
    params,
    path,
    query,
    body: (hint) => decodeBody(body, endpoint.collection, hint),
    conditions: conditionsOf(headers),
    taken,
    faults: [],
  };
}
