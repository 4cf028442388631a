/**
 * GET and POST /config: the whole configuration as one document.
 *
 * | store | GET | POST | POST ?plan=1 |
 * |---|---|---|---|
 * | file | the document | replaces all entities | the changes |
 * | cluster, directory | the document | refused, as in Kong with a database | the changes |
 * | database | refused, as in Kong | refused, as in Kong | the changes |
 *
 * The header X-Sluice-Warning reports parts of the document without effect, such as the first of two equal keys: the
 * response body has Kong's format, in which there is no place for warnings.
 */
import {
  collections,
  declarativeViolation,
  describeWarnings,
  documentPassword,
  type Entities,
  type Entity,
  renderDocument,
  type Violation,
} from "@sluice/model";
import type { AdminSettings } from "../../settings/admin.ts";
import { adoptIds, writesBetween } from "../../stores/difference.ts";
import { withHashedPasswords, withPasswordsAs } from "../../stores/passwords.ts";
import { type EntityLists, entitiesOf, readAll } from "../../stores/read-all.ts";
import type { Store, WriteFault } from "../../stores/store.ts";
import type { AdminContext } from "../context.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { timestampFor } from "../entities/write-operations.ts";
import { badRequest, HttpError } from "../http/errors.ts";
import { planOfWrites } from "../plan/plan.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { performWrites } from "../writes/perform-writes.ts";
import { safeHeaderValue, WARNING_HEADER } from "../writes/response-headers.ts";
import { flattenErrors } from "./flatten-errors.ts";
import { readConfigRequest } from "./read-body.ts";

export interface ConfigOptions extends Pick<AdminContext, "store" | "warnings"> {
  readonly settings: Pick<AdminSettings, "store">;
  /** Milliseconds after which a load is answered with 504. Default 30,000: Kong's clients give up after 60 s. */
  readonly timeout?: number;
}

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
    if (options.plan) return withWarnings(brought.warnings, await plan(config, after));
    if (loading) throw alreadyLoading();
    loading = true;
    const loaded = load(config, after, options.checkHash).finally(() => {
      loading = false;
    });
    return withWarnings(brought.warnings, await withTimeout(timeout, loaded));
  }

  const GET = async (): Promise<AdminResponse> => {
    if (settings.store === "database") throw withDatabase();
    return { status: 200, body: { config: renderDocument({ _format_version: "3.0", ...(await readShown(store)) }) } };
  };
  return [{ url: "/config", handlers: { GET, POST: post } }];
}

/** Adds the warnings about the document itself to the response, before its warnings about entities. */
function withWarnings(warnings: readonly Violation[], answer: AdminResponse): AdminResponse {
  if (warnings.length === 0) return answer;
  const { [WARNING_HEADER]: other, ...headers } = answer.headers ?? {};
  const all = [...describeWarnings(warnings), ...(other === undefined ? [] : [other])];
  return { ...answer, headers: { ...headers, [WARNING_HEADER]: safeHeaderValue(all.join("; ")) } };
}

async function plan({ store, warnings }: ConfigOptions, after: EntityLists): Promise<AdminResponse> {
  const effects = (await replaceAll(store, after, { plan: true })).effects.flat();
  const headers = await warnings(effects);
  return { status: 200, headers, body: { plan: true, ...(await planOfWrites(store, effects)) } };
}

async function load(
  { store, warnings }: ConfigOptions,
  after: EntityLists,
  checkHash: boolean,
): Promise<AdminResponse> {
  const { steps, effects, programmed } = await replaceAll(store, after, { plan: false });
  if (steps.length === 0 && checkHash) return { status: 304 };
  const headers = await warnings(effects.flat());
  return { status: 201, headers, body: byId(await readShown(store)), ...(programmed && { programmed }) };
}

/**
 * Makes the store's entities equal to those of the document, or only plans the writes. After a concurrent change, the
 * writes are prepared again; a plan is not.
 */
const replaceAll = (store: Store, after: EntityLists, { plan }: { readonly plan: boolean }) =>
  performWrites(
    store,
    async () => {
      const before = await readAll(store);
      const hashed = await withHashedPasswords(before, adoptIds(before, after), hashOfDocument);
      const writes = writesBetween(before, hashed, { now: timestampFor("services") });
      return writes.map((write) => ({
        writes: [write],
        attempt: { verb: write.op === "replace" ? "update" : write.op, collection: write.collection, by: undefined },
        isRetryable: async ({ kind }: WriteFault) => !plan && kind === "changed",
      }));
    },
    { plan, force: false, whole: !plan },
  );

/**
 * A fast hash, as in Kong without a database: Kong's ingress controller reads the passwords as plain text from Secrets,
 * and sends all of them at each change.
 */
const hashOfDocument = ({ consumer, password }: Entities["basicauth_credentials"]): string =>
  documentPassword(consumer.id, password);

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

function refusedDocument(violations: readonly Violation[], data: unknown, flatten: boolean): HttpError {
  if (!flatten) return new HttpError(400, { ...declarativeViolation(violations) });
  const { flattened_errors, rest } = flattenErrors(data, violations);
  return new HttpError(400, { ...declarativeViolation(rest), flattened_errors });
}

const alreadyLoading = () =>
  new HttpError(429, { message: "Currently loading previous configuration" }, { "Retry-After": String(RETRY_AFTER) });

const loadTimedOut = () =>
  new HttpError(504, {
    message:
      "Timed out while loading configuration; loading continues, and configuration_hash in GET /status shows what is served",
  });
