/** Problems of the store, from `GET /problems`: entities and files that are not served as they are written. */
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

/** A part of the configuration that is served, although clients may see errors, such as an expired certificate. */
interface ServedWarning {
  readonly subject: string;
  readonly message: string;
  readonly remedy: string;
  readonly entity: { readonly collection: string; readonly id: string };
}

export interface ProblemList {
  readonly warnings: readonly ServedWarning[];
  readonly data: readonly StoredProblem[];
  readonly total: number;
}

/** Maximum number of problems that are shown; the others are only counted. */
const MAX_SHOWN = 50;

export const loadStoreProblems = async (signal: AbortSignal): Promise<readonly SystemProblem[]> =>
  storeProblems(await read<ProblemList>("problems", signal));

export function storeProblems({ data, total, warnings }: ProblemList): readonly SystemProblem[] {
  const shown = data.slice(0, MAX_SHOWN);
  const more = total - shown.length;
  return [...shown.map(problemOf), ...(more > 0 ? [furtherProblems(more)] : []), ...warnings.map(warningOf)];
}

function warningOf({ subject, message, remedy, entity }: ServedWarning): SystemProblem {
  const view = viewOfCollection(entity.collection);
  return {
    severity: "warning",
    title: `The ${subject}`,
    detail: `It ${message}.`,
    cure: remedy,
    ...(view && { at: ["entities", view.path, entity.id] }),
  };
}

function problemOf({ resource, entity, place, reason, message, remedy }: StoredProblem): SystemProblem {
  const view = entity && viewOfCollection(entity.collection);
  const at =
    entity && view
      ? { at: ["entities", view.path, entity.id] }
      : resource
        ? { at: ["resources", resource.kind, resource.namespace, resource.name] }
        : {};
  const title = resource
    ? `${resource.kind} ${resource.namespace}/${resource.name}: ${reason}`
    : place === null
      ? "The declarative file is not valid"
      : `${place} is not valid`;
  return { severity: "error", title, detail: message, cure: remedy, ...(resource && { resource }), ...at };
}

const furtherProblems = (count: number): SystemProblem => ({
  severity: "warning",
  title: `${count.toLocaleString("en")} further problems are not shown`,
  detail: "The list ends here.",
  cure: "Run sluice status, which lists the first 1,000.",
});
