/** Problems of the store, from `GET /problems`: what is not served as it is written. */
import { read } from "../../api/client.ts";
import { viewOfCollection } from "../../api/collections.ts";
import type { SystemProblem } from "./fleet-status.ts";

/** A row of the response: a condition of a custom resource that is false, or an error of the declarative file. */
interface StoredProblem {
  readonly resource: { readonly kind: string; readonly namespace: string; readonly name: string } | null;
  readonly entity: { readonly collection: string; readonly id: string } | null;
  /** `sluice.yml:3:5` */
  readonly place: string | null;
  readonly reason: string | null;
  readonly message: string;
  readonly remedy: string;
}

export interface ProblemList {
  readonly data: readonly StoredProblem[];
  readonly total: number;
}

/** More problems are counted only. */
const MAX_SHOWN = 50;

export const loadStoreProblems = async (signal: AbortSignal): Promise<readonly SystemProblem[]> =>
  storeProblems(await read<ProblemList>("problems", signal));

export function storeProblems({ data, total }: ProblemList): readonly SystemProblem[] {
  const shown = data.slice(0, MAX_SHOWN);
  const more = total - shown.length;
  return more > 0 ? [...shown.map(problemOf), furtherProblems(more)] : shown.map(problemOf);
}

function problemOf({ resource, entity, place, reason, message, remedy }: StoredProblem): SystemProblem {
  const view = entity && viewOfCollection(entity.collection);
  const at = entity && view ? { at: ["entities", view.path, entity.id] } : {};
  const title = resource
    ? `${resource.kind} ${resource.namespace}/${resource.name}: ${reason}`
    : place === null
      ? "The declarative file is not valid"
      : `${place} is not valid`;
  return { severity: "error", title, detail: message, cure: remedy, ...at };
}

const furtherProblems = (count: number): SystemProblem => ({
  severity: "warning",
  title: `${count.toLocaleString("en")} further problems are not shown`,
  detail: "The list ends here.",
  cure: "Run sluice status, which lists all of them.",
});
