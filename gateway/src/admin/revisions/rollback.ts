/** Restores the state of an earlier revision. */
import { entities, schemaViolation } from "@sluice/model";
import { type EntityLists, readAll } from "../../stores/read-all.ts";
import { writesToUndo } from "../../stores/revisions/net-changes.ts";
import type { Revisions, StoreRevision } from "../../stores/revisions/revisions.ts";
import type { Store, Write } from "../../stores/store.ts";
import type { AdminContext } from "../context.ts";
import { timestampFor } from "../entities/write-operations.ts";
import { parseBooleanOption } from "../http/boolean-option.ts";
import { HttpError } from "../http/errors.ts";
import { etagHeader, readPreconditions, requirePreconditions } from "../http/preconditions.ts";
import { summaryOf } from "../plan/plan.ts";
import type { AdminRequest, AdminResponse, PreparedWrite } from "../requests.ts";
import { performWrites } from "../writes/perform-writes.ts";

/** @throws HttpError 501 if the store keeps no revisions. */
export function revisionsOf({ revisions }: Pick<Store, "revisions">): Revisions {
  if (revisions) return revisions;
  throw new HttpError(501, { message: "this store keeps no revisions" });
}

/** @throws HttpError 404 if there is no such revision. */
export async function revisionNumbered(revisions: Revisions, text: string | undefined): Promise<StoreRevision> {
  const found = text !== undefined && /^\d{1,15}$/.test(text) ? await revisions.find(Number(text)) : null;
  if (found) return found;
  const message = `there is no revision ${text}: GET /revisions lists the revisions that are kept`;
  throw new HttpError(404, { message });
}

export async function newestOf(revisions: Revisions): Promise<StoreRevision> {
  const [newest] = (await revisions.list({ size: 1 })).revisions;
  if (newest) return newest;
  throw new HttpError(404, {
    message: "there is no revision yet: with custom resources, the operator records the revisions",
  });
}

/**
 * The header If-Match may have the ETag of a plan or of GET /revisions. The rollback is then refused if anything was
 * written after that response.
 */
export async function rollBack(
  { store, warnings, planOf }: Pick<AdminContext, "store" | "warnings" | "planOf">,
  { params, query, headers, author }: AdminRequest,
): Promise<AdminResponse> {
  const revisions = revisionsOf(store);
  const [plan, force] = [
    parseBooleanOption("dry_run", query.get("dry_run")),
    parseBooleanOption("force", query.get("force")),
  ];
  const preconditions = readPreconditions(headers);
  let newest: StoreRevision | undefined;
  const workOut = async () => {
    const state = await readState(store, revisions);
    newest = state.newest;
    const tag = String(newest.last);
    await requirePreconditions(preconditions, () => tag, "configuration");
    const target = await revisionNumbered(revisions, params.number);
    return (await writesTo(target, state, { store, revisions })).map(stepOf);
  };
  const { effects, programmed } = await performWrites(store, workOut, { plan, force, author });
  const warned = await warnings(effects.flat());
  if (plan) {
    const tagged = { ...warned, ...etagHeader(String(newest?.last)) };
    return { status: 200, headers: tagged, body: { dry_run: true, ...(await planOf(effects.flat())) } };
  }
  const body = { dry_run: false, ...summaryOf(effects.flat()) };
  return { status: 200, headers: warned, body, ...(programmed && { programmed }) };
}

const stepOf = (write: Write): Omit<PreparedWrite, "respond"> => ({
  writes: [write],
  attempt: { verb: write.op === "replace" ? "update" : write.op, collection: write.collection, by: undefined },
  isRetryable: async ({ kind }) => kind === "changed",
});

interface StoreState {
  readonly newest: StoreRevision;
  readonly current: EntityLists;
}

const ATTEMPTS = 8;

/** All entities, and the revision whose state they are. */
async function readState(store: Store, revisions: Revisions): Promise<StoreState> {
  let newest = await newestOf(revisions);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const current = await readAll(store);
    const later = await newestOf(revisions);
    if (later.last === newest.last) return { newest, current };
    newest = later;
  }
  throw new HttpError(409, { message: "the configuration keeps changing: try again" });
}

async function writesTo(
  { number }: StoreRevision,
  { newest, current }: StoreState,
  { store, revisions }: { readonly store: Store; readonly revisions: Revisions },
): Promise<readonly Write[]> {
  const { changes, missing } = await revisions.changes({ after: number, to: newest.number });
  if (!changes) throw new HttpError(409, { message: `revision ${number} cannot be restored: ${missing}` });
  const { database = false } = store;
  const undo = writesToUndo(current, changes, { database, now: timestampFor("services") });
  if (undo.writes) return undo.writes;
  const refused = schemaViolation(undo.violations);
  const what = `${entities[undo.collection].singular} ${undo.id}`;
  const message = `the ${what} of revision ${number} is no longer valid: ${refused.message}`;
  throw new HttpError(400, { ...refused, message });
}
