/**
 * POST /config/apply?plan_id=...: carries out the plan that `POST /config?plan=1` has shown, with every kind of store.
 * Kong has no such endpoint: there, a document can only replace the configuration of a node without a database.
 */
import { entitiesOf } from "../../stores/read-all.ts";
import { badRequest, HttpError } from "../http/errors.ts";
import { summaryOf } from "../plan/plan.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { readConfigRequest } from "./read-body.ts";
import { type ConfigOptions, refusedDocument } from "./refused-document.ts";
import { planIdOf, replaceAll } from "./replace-all.ts";

export async function applyDocumentPlan(
  { store, settings, warnings }: ConfigOptions,
  received: AdminRequest,
): Promise<AdminResponse> {
  const planId = received.query.get("plan_id");
  if (!planId) throw badRequest("plan_id is missing: POST /config?plan=1 returns it");
  const { options, ...brought } = readConfigRequest(received);
  if (brought.violations) throw refusedDocument(brought.violations, brought.data, options.flattenErrors);
  const document = entitiesOf(brought.document);
  const { keep, force } = options;
  const isFile = settings.store === "file";
  const replace = { author: received.author, keep, force, fastHash: isFile, whole: isFile && !keep };
  const planned = await replaceAll(store, document, { ...replace, plan: true });
  if (planIdOf(document, planned.effects.flat()) !== planId) throw changedSincePlan();
  const { effects, programmed } = await replaceAll(store, document, { ...replace, plan: false });
  const headers = await warnings(effects.flat());
  const body = { plan: false, plan_id: planId, ...summaryOf(effects.flat()) };
  return { status: 200, headers, body, ...(programmed && { programmed }) };
}

const changedSincePlan = () =>
  new HttpError(412, { message: "the configuration or the document has changed since the plan: plan again" });
