/** Plans and performs one write: of an entity, or of everything in a rollback. */
import { type ApiResponse, requestJson } from "../api/client.ts";
import type { EntityRecord } from "../api/load-entities.ts";
import type { PlanBody } from "./change-plan.ts";

export interface EntityWrite {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly path: string;
  readonly json?: unknown;
  /** The ETag of the version that the user saw. A newer version is not overwritten. */
  readonly tag?: string | null;
}

const request = ({ method, json, tag }: EntityWrite) => ({
  method,
  ...(json !== undefined && { json }),
  ...(tag !== undefined && tag !== null && { headers: { "If-Match": tag } }),
});

export interface PlannedWrite {
  readonly plan: PlanBody;
  /** The write with the ETag of the plan, if there is one: the admin API refuses the write if the state has changed. */
  readonly write: EntityWrite;
}

export async function planWrite(write: EntityWrite): Promise<PlannedWrite> {
  const { body: plan, headers } = await requestJson<PlanBody>(`${write.path}?dry_run=1`, request(write));
  return { plan, write: { ...write, tag: write.tag ?? headers.get("ETag") } };
}

export interface WriteResult {
  readonly entity: EntityRecord | undefined;
  /** Whether the nodes serve the change, as a sentence. */
  readonly served: string;
  readonly isServed: boolean;
}

export async function performWrite(write: EntityWrite): Promise<WriteResult> {
  const { body, headers }: ApiResponse<EntityRecord | undefined> = await requestJson(write.path, request(write));
  const warning = headers.get("X-Sluice-Warning");
  const { text, isServed } = servedText(headers);
  return {
    entity: body,
    served: warning === null ? text : `${text} Warning: ${warning}`,
    isServed: isServed && warning === null,
  };
}

function servedText(headers: Headers): { readonly text: string; readonly isServed: boolean } {
  const programmed = headers.get("X-Sluice-Programmed");
  if (programmed === "true") return { text: "Every node serves it.", isServed: true };
  const problem = headers.get("X-Sluice-Problem");
  if (programmed === "false") return { text: `It is stored, but not served: ${problem}`, isServed: false };
  const lagging = headers.get("X-Sluice-Lagging");
  const late = lagging === null ? "" : ` Late: ${lagging}.`;
  return { text: `It is stored; not every node has confirmed it yet.${late}`, isServed: false };
}
