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
}

export interface ProblemList {
  readonly data: readonly StoredProblem[];
  readonly total: number;
}

/** More problems are counted only. */
const MAX_SHOWN = 50;

/** What to change, by the reason of the condition; `…NotFound` reasons have one cure. */
const cures: Readonly<Record<string, string>> = {
  Conflicted: "Rename one of the two resources, or delete the one that is not needed.",
  NotAllowed: "Move the resource to a namespace in which this is allowed, or correct the field.",
  PluginMissing: "Add the plugin to SLUICE_PLUGINS of these nodes, or delete the resource.",
  RefNotPermitted: "Add a ReferenceGrant to the namespace of the referenced resource.",
  SecretNotFound: "Create the Secret or its key, with the label sluice.dev/credential; or correct the reference.",
};

/** @param store The kind of store: resources in a cluster are corrected with kubectl. */
export const loadStoreProblems = async (store: string, signal: AbortSignal): Promise<readonly SystemProblem[]> =>
  storeProblems(await read<ProblemList>("problems", signal), store);

export function storeProblems({ data, total }: ProblemList, store: string): readonly SystemProblem[] {
  const shown = data.slice(0, MAX_SHOWN);
  // Accepted and Programmed are false for one reason: the second has the longer message.
  const groups = Map.groupBy(shown, ({ resource, place, reason, message }) =>
    JSON.stringify(resource ? [resource, reason] : [place, message]),
  );
  const problems = [...groups.values()].map(([first, second]) => {
    const [one, other] = [first as StoredProblem, second ?? (first as StoredProblem)];
    return problemOf(one.message.length < other.message.length ? other : one, store);
  });
  const more = total - shown.length;
  return more > 0 ? [...problems, furtherProblems(more)] : problems;
}

function problemOf({ resource, entity, place, reason, message }: StoredProblem, store: string): SystemProblem {
  const view = entity && viewOfCollection(entity.collection);
  const at = entity && view ? { at: ["entities", view.path, entity.id] } : {};
  if (!resource)
    return {
      severity: "error",
      title: place === null ? "The declarative file is not valid" : `${place} is not valid`,
      detail: message,
      cure: "Correct this line. Until then, the nodes serve the last valid version of the file.",
    };
  const { kind, namespace, name } = resource;
  const command = `: kubectl -n ${namespace} edit ${kind.toLowerCase()}s.sluice.dev ${name}`;
  return {
    severity: "error",
    title: `${kind} ${namespace}/${name}: ${reason}`,
    detail: message,
    cure: cureOf(reason ?? "", store === "cluster" ? command : ", in its file."),
    ...at,
  };
}

const cureOf = (reason: string, means: string): string =>
  cures[reason] ??
  (reason.endsWith("NotFound")
    ? `Create what the resource refers to, or correct the reference${means}`
    : `Correct the resource${means}`);

const furtherProblems = (count: number): SystemProblem => ({
  severity: "warning",
  title: `${count.toLocaleString("en")} further problems are not shown`,
  detail: "The list ends here.",
  cure: "Run sluice status, which lists all of them.",
});
