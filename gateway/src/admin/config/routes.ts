/**
 * GET and POST /config: the whole configuration as one document.
 *
 * | store | GET | POST | POST ?plan=1 |
 * |---|---|---|---|
 * | file | the document | replaces all entities | the changes |
 * | cluster, directory | the document | refused, as in Kong with a database | the changes |
 * | database | refused, as in Kong | refused, as in Kong | the changes |
 *
 * With `plan=1&keep=1`, entities that the document does not contain are kept. `POST /config/apply` carries out a plan.
 *
 * The header X-Sluice-Warning reports parts of the document that have no effect, such as the first of two equal keys.
 * The response body has Kong's format, in which there is no place for warnings.
 */
import {
  collections,
  describeWarnings,
  documentPassword,
  type Entity,
  renderDocument,
  type Violation,
} from "@sluice/model";
import { withPasswordsAs } from "../../stores/passwords.ts";
import { type EntityLists, entitiesOf, readAll } from "../../stores/read-all.ts";
import type { Store } from "../../stores/store.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { badRequest, HttpError } from "../http/errors.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { safeHeaderValue, WARNING_HEADER } from "../writes/response-headers.ts";
import { applyDocumentPlan } from "./apply.ts";
import { readConfigRequest } from "./read-body.ts";
import { type ConfigOptions, refusedDocument } from "./refused-document.ts";
import { planIdOf, replaceAll } from "./replace-all.ts";

/** Seconds after which a client may retry while another document is being loaded. */
const RETRY_AFTER = 5;

const withDatabase = () =>
  badRequest(
    "this endpoint is only available when Sluice is configured to keep entities in a declarative file (SLUICE_STORE=file)",
  );

export function configRoutes(config: ConfigOptions): readonly AdminRoute[] {
  const { store, settings, timeout = 30_000 } = config;
  let loading = false;

  async function post(received: AdminRequest): Promise<AdminResponse> {
    const { options, ...brought } = readConfigRequest(received);
    if (!options.plan && settings.store !== "file") throw withDatabase();
    if (brought.violations) throw refusedDocument(brought.violations, brought.data, options.flattenErrors);
    const after = entitiesOf(brought.document);
    if (options.plan)
      return withWarnings(brought.warnings, await plan(config, after, { keep: options.keep, author: received.author }));
    if (loading) throw alreadyLoading();
    loading = true;
    const loaded = load(config, after, { checkHash: options.checkHash, author: received.author }).finally(() => {
      loading = false;
    });
    return withWarnings(brought.warnings, await withTimeout(timeout, loaded));
  }

  const GET = async (): Promise<AdminResponse> => {
    if (settings.store === "database") throw withDatabase();
    return { status: 200, body: { config: renderDocument({ _format_version: "3.0", ...(await readShown(store)) }) } };
  };
  return [
    { url: "/config", handlers: { GET, POST: post } },
    { url: "/config/apply", handlers: { POST: (received) => applyDocumentPlan(config, received) } },
  ];
}

/** Adds the warnings about the document itself to the response, before its warnings about entities. */
function withWarnings(warnings: readonly Violation[], answer: AdminResponse): AdminResponse {
  if (warnings.length === 0) return answer;
  const { [WARNING_HEADER]: other, ...headers } = answer.headers ?? {};
  const all = [...describeWarnings(warnings), ...(other === undefined ? [] : [other])];
  return { ...answer, headers: { ...headers, [WARNING_HEADER]: safeHeaderValue(all.join("; ")) } };
}

async function plan(
  { store, settings, warnings, planOf }: ConfigOptions,
  after: EntityLists,
  { keep, author }: { readonly keep: boolean; readonly author: string },
): Promise<AdminResponse> {
  const fastHash = settings.store === "file";
  const effects = (await replaceAll(store, after, { plan: true, author, keep, fastHash })).effects.flat();
  const headers = await warnings(effects);
  const body = { plan: true, plan_id: planIdOf(after, effects), ...(await planOf(effects)) };
  return { status: 200, headers, body };
}

async function load(
  { store, warnings }: ConfigOptions,
  after: EntityLists,
  { checkHash, author }: { readonly checkHash: boolean; readonly author: string },
): Promise<AdminResponse> {
  const { steps, effects, programmed } = await replaceAll(store, after, {
    plan: false,
    author,
    keep: false,
    fastHash: true,
    whole: true,
  });
  if (steps.length === 0 && checkHash) return { status: 304 };
  const headers = await warnings(effects.flat());
  return { status: 201, headers, body: byId(await readShown(store)), ...(programmed && { programmed }) };
}

/** The entities as the admin API shows them. */
const readShown = async (store: Store): Promise<EntityLists> => withPasswordsAs(documentPassword, await readAll(store));

/** A timeout does not stop the load: a write that may have been done cannot be revoked. */
function withTimeout(timeout: number, loaded: Promise<AdminResponse>): Promise<AdminResponse> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(loadTimedOut()), timeout);
  return Promise.race([loaded, late.promise]).finally(() => clearTimeout(timer));
}

const byId = (lists: EntityLists): object =>
  Object.fromEntries(
    collections.flatMap((collection) => {
      const all: readonly Entity[] = lists[collection] ?? [];
      return all.length === 0 ? [] : [[collection, Object.fromEntries(all.map((entity) => [entity.id, entity]))]];
    }),
  );

const alreadyLoading = () =>
  new HttpError(429, { message: "Currently loading previous configuration" }, { "Retry-After": String(RETRY_AFTER) });

const loadTimedOut = () =>
  new HttpError(504, {
    message:
      "Timed out while loading configuration; loading continues, and configuration_hash in GET /status shows what is served",
  });
