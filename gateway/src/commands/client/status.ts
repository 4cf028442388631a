/** `sluice status`: the nodes, and the resources and files that are not served as written. */

import { escapeControlCharacters } from "@sluice/model/serving";
import type { NodeProblem } from "../../admin/information/nodes/node-problems.ts";
import { clientSettings } from "../../settings/commands/client.ts";
import type { StoreProblem } from "../../stores/store.ts";
import { defineCommand } from "../command.ts";
import { formatData, formatTable, styledText } from "../terminal/output.ts";
import { type AdminConnection, withAdmin } from "./admin-connection.ts";
import { type StatusWarning, targetWarnings } from "./status-warnings.ts";

/** The exit code if a node or a resource has a problem. */
const PROBLEMS = 3;

/** Members of the admin API's GET /status that are printed. Which of them exist depends on the store. */
interface FleetReport {
  readonly reachable: boolean;
  readonly revision?: number;
  readonly leader?: boolean;
  readonly silent?: readonly string[];
  readonly lagging?: readonly string[];
  readonly nodes?: readonly NodeReportRow[];
}

interface NodeReportRow {
  readonly address: string;
  /** The fleet whose document the node gets; absent if all nodes get the same. */
  readonly fleet?: string;
  readonly revision?: number | null;
  readonly hash?: string | null;
  readonly version?: string;
  readonly trouble?: string | null;
  readonly problem?: NodeProblem | null;
}

/** A problem in the response of `GET /problems`. */
type ReportedProblem = StoreProblem & { readonly remedy?: string };

interface StatusReport {
  readonly store: string;
  readonly version: string;
  /** Parts of the store that cannot be read. */
  readonly unread: readonly string[];
  readonly fleet: FleetReport;
  readonly problems: readonly ReportedProblem[];
  /** The number of all problems. */
  readonly total: number;
  /** Parts of the configuration that are served, but may fail for clients. */
  readonly warnings: readonly StatusWarning[];
}

export const statusCommand = defineCommand({
  settings: clientSettings,
  ends: true,
  async run(call) {
    const report = await withAdmin(call, readReport);
    const { output } = call.given.options;
    call.print(output === "yaml" || output === "json" ? formatData(output, report) : statusText(report));
    return isHealthy(report) ? 0 : PROBLEMS;
  },
});

/** The admin API's GET /problems. */
interface ProblemsBody {
  readonly data: readonly ReportedProblem[];
  readonly total: number;
  readonly warnings?: readonly StatusWarning[];
}

async function readReport(admin: AdminConnection): Promise<StatusReport> {
  const status = await admin.read<{ readonly sluice?: Omit<StatusReport, "problems" | "total" | "warnings"> }>(
    "/status",
  );
  if (!status?.sluice) throw admin.refusal("/status shows no nodes: the caller is not known to the admin API");
  const problems = await admin.read<ProblemsBody>("/problems");
  const { store, version, unread, fleet } = status.sluice;
  const certificates = (problems?.warnings ?? []).map(({ subject, message }) => ({ subject, message }));
  const warnings = [...certificates, ...(await targetWarnings(admin))];
  return { store, version, unread, fleet, problems: problems?.data ?? [], total: problems?.total ?? 0, warnings };
}

const isHealthy = ({ unread, fleet, total }: StatusReport): boolean =>
  unread.length === 0 &&
  total === 0 &&
  fleet.reachable &&
  (fleet.silent ?? []).length === 0 &&
  (fleet.lagging ?? []).length === 0 &&
  (fleet.nodes ?? []).every(({ trouble }) => !trouble);

function statusText(report: StatusReport): string {
  const { store, version, unread, fleet, problems, total, warnings } = report;
  const { revision, nodes = [] } = fleet;
  const facts = [
    `Store:     ${store}`,
    `Version:   ${version}`,
    ...(revision === undefined ? [] : [`Revision:  ${revision}`]),
    ...unread.map((part) => styledText("red", `Not read:  ${part}`)),
    ...(fleet.reachable ? [] : [styledText("red", "The state of the nodes is not known to the admin API.")]),
  ];
  // Without Gateways that have nodes of their own, the column would repeat one word.
  const hasFleets = new Set(nodes.map((node) => node.fleet)).size > 1;
  const fleetColumn = (text: string) => (hasFleets ? [text] : []);
  const rows = nodes.map((node) => [
    node.address,
    ...fleetColumn(node.fleet ?? "-"),
    String(node.revision ?? "-"),
    node.hash?.slice(0, 12) ?? "-",
    node.version ?? "-",
    stateOf(node, fleet),
  ]);
  const head = ["NODE", ...fleetColumn("FLEET"), "REVISION", "CONFIGURATION", "VERSION", "STATE"];
  const nodesText = formatTable([head, ...rows]);
  const more = total > problems.length ? [`${total - problems.length} further problems are not shown\n`] : [];
  const problemTexts = [...nodes.flatMap(nodeProblemText), ...problems.map(problemText), ...more];
  const problemsText = isHealthy(report)
    ? `${styledText("green", "The configuration is served as written.")}\n`
    : `${styledText("red", "Not served as written:")}\n${problemTexts.join("") || "The state of the nodes or of the store is not known.\n"}`;
  const warningsText =
    warnings.length === 0
      ? []
      : [
          `${styledText("yellow", "Needs attention:")}\n${warnings.map(({ subject, message }) => `The ${subject} ${message}.\n`).join("")}`,
        ];
  return [`${facts.join("\n")}\n`, nodesText, problemsText, ...warningsText].join("\n");
}

const nodeProblemText = ({ address, trouble, problem }: NodeReportRow): readonly string[] => {
  const { message, remedy } = problem ?? { message: trouble };
  return message ? [described(`Node ${address}`, message, remedy)] : [];
};

function problemText({ resource, place, condition, reason, message, remedy }: ReportedProblem): string {
  const subject = resource ? `${resource.kind} ${resource.namespace}/${resource.name}` : (place ?? "The file");
  return described(subject, condition === null ? message : `${condition}: ${reason}: ${message}`, remedy);
}

function described(subject: string, message: string, remedy: string | undefined): string {
  const lines = [message, ...(remedy === undefined ? [] : [remedy])];
  return `${styledText("bold", subject)}\n${lines.map((line) => `  ${escapeControlCharacters(line)}\n`).join("")}`;
}

function stateOf({ address, trouble }: NodeReportRow, { silent = [], lagging = [] }: FleetReport): string {
  if (silent.includes(address)) return "silent";
  if (lagging.includes(address)) return "has an older configuration";
  return trouble ?? "ok";
}
