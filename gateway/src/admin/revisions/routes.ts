/**
 * The revisions of the store: who changed what, differences between revisions, and rollbacks.
 *
 * | request | response |
 * |---|---|
 * | GET /revisions | the revisions, newest first, in pages |
 * | GET /revisions/N | one revision with its changes |
 * | GET /revisions/N/difference | the changes from revision N to the present state; `?since=M`: from revision M to N |
 * | POST /revisions/N/rollback | writes that restore the state of revision N, as one more revision |
 *
 * Changes have the form of plans, so the values of secrets are never shown.
 */
import { netChanges } from "../../stores/revisions/net-changes.ts";
import type { EntityChange, Revisions, StoreRevision } from "../../stores/revisions/revisions.ts";
import type { AdminContext } from "../context.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { HttpError, invalidOffset, invalidOptions } from "../http/errors.ts";
import { decodeOffset, encodeOffset, type Query, rangeOf } from "../http/paging.ts";
import { etagHeader } from "../http/preconditions.ts";
import { summaryOf } from "../plan/plan.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { newestOf, revisionNumbered, revisionsOf, rollBack } from "./rollback.ts";

export const revisionRoutes = (options: Pick<AdminContext, "store" | "warnings" | "planOf">): readonly AdminRoute[] => {
  const { store } = options;
  return [
    { url: "/revisions", handlers: { GET: ({ query }) => list(revisionsOf(store), query) } },
    { url: "/revisions/:number", handlers: { GET: (received) => show(revisionsOf(store), received) } },
    {
      url: "/revisions/:number/difference",
      handlers: { GET: (received) => showDifference(revisionsOf(store), received) },
    },
    { url: "/revisions/:number/rollback", handlers: { POST: (received) => rollBack(options, received) } },
  ];
};

async function list(revisions: Revisions, query: Query): Promise<AdminResponse> {
  const { size, offset } = rangeOf(query);
  const before = offset === null ? undefined : readRevisionOffset(offset);
  const page = await revisions.list({ size, ...(before !== undefined && { before }) });
  const data = page.revisions.map(shown);
  const [newest, last] = [page.revisions[0], page.revisions.at(-1)];
  const headers = newest && before === undefined ? etagHeader(String(newest.last)) : {};
  if (!page.more || !last) return { status: 200, headers, body: { data, next: null } };
  const next = encodeOffset({ number: last.number });
  const path = `/revisions?offset=${encodeURIComponent(next)}&size=${size}`;
  return { status: 200, headers, body: { data, next: path, offset: next } };
}

function readRevisionOffset(offset: string): number {
  const { number } = decodeOffset(offset);
  if (typeof number === "number" && Number.isSafeInteger(number)) return number;
  throw invalidOffset(offset, "bad value");
}

const shown = ({ number, time, author, counts }: StoreRevision) => ({
  number,
  time: new Date(time).toISOString(),
  author,
  counts,
});

async function show(revisions: Revisions, { params }: AdminRequest): Promise<AdminResponse> {
  const revision = await revisionNumbered(revisions, params.number);
  const { number } = revision;
  const { changes, missing } = await revisions.changes({ after: number - 1, to: number });
  const content = changes ? summaryOfChanges(changes) : { reason: missing };
  return { status: 200, body: { ...shown(revision), ...content } };
}

async function showDifference(revisions: Revisions, { params, query }: AdminRequest): Promise<AdminResponse> {
  const given = await revisionNumbered(revisions, params.number);
  const since = query.get("since");
  const [from, to] = since === null ? [given, await newestOf(revisions)] : [await sinceOf(revisions, since), given];
  const isForward = from.number <= to.number;
  const [earlier, later] = isForward ? [from, to] : [to, from];
  const { changes, missing } = await revisions.changes({ after: earlier.number, to: later.number });
  if (!changes) throw new HttpError(409, { message: `the difference cannot be computed: ${missing}` });
  const directed = isForward ? changes : changes.toReversed().map(reversed);
  return { status: 200, body: { from: from.number, to: to.number, ...summaryOfChanges(directed) } };
}

async function sinceOf(revisions: Revisions, since: string): Promise<StoreRevision> {
  if (!/^\d{1,15}$/.test(since)) throw invalidOptions({ since: "expected the number of a revision" });
  return revisionNumbered(revisions, since);
}

const reversed = (change: EntityChange): EntityChange => ({ ...change, before: change.after, after: change.before });

const summaryOfChanges = (changes: readonly EntityChange[]) =>
  summaryOf(netChanges(changes).map(({ collection, before, after }) => ({ collection, before, after, along: [] })));
