/** The state of the nodes: from GET /status of the admin API, which differs by store, and from /metrics. */
import type { FleetGauges } from "../../metrics/node-gauges.ts";

interface StatusNode {
  /** The node's id. With custom resources, it is absent until the node has answered the operator. */
  readonly node?: string;
  readonly address?: string;
  readonly version?: string;
  readonly revision?: number;
  readonly silent?: boolean;
  readonly missingPlugins?: readonly string[];
  /** The problem of a silent or late node. */
  readonly problem?: { readonly message: string; readonly remedy: string } | null;
}

export interface StatusBody {
  readonly sluice?: {
    readonly version: string;
    readonly store: string;
    /** Why entities cannot be read. */
    readonly unread?: readonly string[];
    readonly fleet?: {
      readonly reachable: boolean;
      readonly revision?: number;
      readonly silent?: readonly string[];
      readonly lagging?: readonly string[];
      readonly nodes?: readonly StatusNode[];
    };
  };
}

export interface NodeRow {
  readonly key: string;
  readonly address: string;
  readonly version: string;
  readonly revision: number | null;
  readonly state: "serving" | "late" | "silent" | "old configuration";
  readonly memory: number | null;
  readonly lag: number | null;
  readonly problem: StatusNode["problem"];
}

export function nodeRows({ sluice }: StatusBody, gauges: FleetGauges | undefined): readonly NodeRow[] {
  const { nodes = [], silent = [], lagging = [] } = sluice?.fleet ?? {};
  return nodes.map((node, index) => {
    const { node: id = "", address = id, version = "", revision = null } = node;
    const own = gauges?.nodes.get(id);
    const names = (list: readonly string[]) => list.some((one) => one === address || one === id);
    const state =
      node.silent || names(silent)
        ? "silent"
        : own?.isConfigCurrent === false
          ? "old configuration"
          : names(lagging)
            ? "late"
            : "serving";
    return {
      key: id || address || String(index),
      address,
      version,
      revision,
      state,
      memory: own?.memory ?? null,
      lag: own?.lag ?? null,
      problem: node.problem,
    };
  });
}

export interface SystemProblem {
  readonly severity: "error" | "warning";
  readonly title: string;
  readonly detail: string;
  /** The action that solves the problem. */
  readonly cure: string;
  /** The page of the entity or custom resource concerned. */
  readonly at?: readonly string[];
  /** The custom resource that has the problem. */
  readonly resource?: { readonly kind: string; readonly namespace: string; readonly name: string };
}

type ProblemTexts = readonly [severity: SystemProblem["severity"], title: string, detail: string, cure: string];

/** The problem of a node, by its state. The response of `GET /status` has details of silent and late nodes. */
const nodeProblems: Readonly<Record<Exclude<NodeRow["state"], "serving">, ProblemTexts>> = {
  silent: ["error", "is silent", "It has not answered for two seconds.", "Check its process and the network."],
  late: [
    "warning",
    "is late",
    "It does not serve the newest configuration yet.",
    "Wait some seconds. If it stays late, read its log.",
  ],
  "old configuration": [
    "error",
    "serves an old configuration",
    "It refused the last one, or could not read it.",
    "Its log names the line or the entity that is invalid.",
  ],
};

/** Problems that the console derives itself. */
export function systemProblems(
  { sluice }: StatusBody,
  rows: readonly NodeRow[],
  gauges: FleetGauges | undefined,
): readonly SystemProblem[] {
  const problems: SystemProblem[] = [];
  const add = (...[severity, title, detail, cure]: ProblemTexts) =>
    void problems.push({ severity, title, detail, cure });
  for (const reason of sluice?.unread ?? [])
    add(
      "error",
      "Entities cannot be read",
      reason,
      "Restore access to the store; the log of the admin listener has the cause.",
    );
  if (sluice?.fleet?.reachable === false) {
    const isOperator = sluice.store === "cluster" || sluice.store === "directory";
    add(
      "error",
      "The state of the nodes is unknown",
      isOperator ? "The operator does not answer." : "No node has reported to this store.",
      isOperator
        ? "Check that the operator runs and that SLUICE_OPERATOR_URL names it."
        : "Start a node, or run the admin API and a node in one process (sluice start).",
    );
  } else if (rows.length === 0)
    add("warning", "No node is known", "Changes are stored, but no node serves them.", "Start a node.");
  for (const { address, state, problem } of rows) {
    if (state === "serving") continue;
    const [severity, title, detail, cure] = nodeProblems[state];
    add(severity, `The node ${address} ${title}`, problem?.message ?? detail, problem?.remedy ?? cure);
  }
  for (const plugin of gauges?.missingPlugins ?? [])
    add(
      "error",
      `The plugin ${plugin} is missing`,
      "The configuration uses it and a node does not have it: requests in its scope are answered with 503.",
      "Add it to SLUICE_PLUGINS of all nodes, or delete the plugin entity.",
    );
  for (const address of gauges?.unscraped ?? [])
    add(
      "warning",
      `The metrics of ${address} are missing`,
      "Its status listener did not answer.",
      "Check that the admin API reaches SLUICE_STATUS_LISTEN of the node.",
    );
  return problems;
}
