/**
 * The problems of nodes, for GET /status. A node that the store has not heard from, or that is late, is asked at
 * its status listener: it may have lost its database or its operator, and still serve clients.
 */
import type { AdminSettings } from "../../../settings/commands/admin.ts";

export interface NodeProblem {
  readonly message: string;
  /** The steps that solve the problem. */
  readonly remedy: string;
}

/** A node in the response of `Fleet.status`. */
interface ReportedNode {
  readonly address: string;
  /** Base URL of its status listener; null: it cannot be reached from here. */
  readonly status?: string | null;
  readonly revision?: number | null;
  /** When the store last heard from it, in ISO 8601; null: never. */
  readonly lastSeen?: string | null;
  readonly trouble?: string | null;
}

/** Members of a node's own GET /status. */
interface OwnReport {
  readonly revision?: number;
  readonly trouble?: string | null;
}

/** Milliseconds for the response of a node. */
const TIMEOUT = 1000;

/** Maximum number of nodes that are asked, so that many stopped nodes do not cause many connections. */
const MAX_ASKED = 20;

/** The state of the nodes as the store knows it, and for each node its problem; null: it has none. */
export async function withNodeProblems(
  fleet: Readonly<Record<string, unknown>>,
  store: AdminSettings["store"],
): Promise<Readonly<Record<string, unknown>>> {
  const { silent = [], lagging = [], nodes } = fleet as FleetMembers;
  if (!Array.isArray(nodes)) return fleet;
  const [silentNodes, lateNodes] = [new Set(silent), new Set(lagging)];
  const revisions = nodes.flatMap(({ revision }) => revision ?? []);
  const newest = Number(fleet.revision ?? Math.max(0, ...revisions));
  const peer = store === "database" ? "the database" : "the operator";
  const suspects = nodes.filter(({ address }) => silentNodes.has(address) || lateNodes.has(address));
  const asked = new Set(suspects.slice(0, MAX_ASKED));
  const described = nodes.map(async (node: ReportedNode) => {
    if (!suspects.includes(node)) return { ...node, problem: null };
    const answer = await askNode(asked.has(node) ? (node.status ?? null) : null);
    const own = typeof answer === "string" ? null : answer;
    const revision = own?.revision ?? node.revision ?? null;
    const facts = { node, own, newest, peer, revision, failure: typeof answer === "string" ? answer : null };
    return { ...node, revision, problem: silentNodes.has(node.address) ? silence(facts) : lateness(facts) };
  });
  return { ...fleet, nodes: await Promise.all(described) };
}

interface FleetMembers {
  readonly silent?: readonly string[];
  readonly lagging?: readonly string[];
  readonly nodes?: readonly ReportedNode[];
}

/** The node's own report, or the reason why there is none. */
async function askNode(status: string | null): Promise<OwnReport | string> {
  if (status === null) return "the address of its status listener is not known here";
  try {
    const response = await fetch(new URL("/status", status), {
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT),
    });
    const { sluice } = Object(await response.json()) as { readonly sluice?: OwnReport };
    return response.ok && sluice && typeof sluice === "object"
      ? sluice
      : `${status} is not the status listener of a node`;
  } catch (error) {
    return `its status listener at ${status} does not answer: ${reasonOf(error as Error)}`;
  }
}

const reasonOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message || message : message);

interface NodeFacts {
  readonly node: ReportedNode;
  /** Null: the node did not answer, for the reason `failure`. */
  readonly own: OwnReport | null;
  readonly failure: string | null;
  /** The revision that the node serves, as far as it is known. */
  readonly revision: number | null;
  readonly newest: number;
  /** The process from which nodes get their configuration, such as `the database`. */
  readonly peer: string;
}

function silence({ node, own, failure, revision, newest, peer }: NodeFacts): NodeProblem {
  const since = node.lastSeen ? ` since ${node.lastSeen}` : "";
  if (own === null)
    return {
      message: `Its state is unknown${since}, and ${failure}. It may still serve clients with an old configuration.`,
      remedy: `Check its process and the network. If it runs, check its connection to ${peer}.`,
    };
  const reason = own.trouble ?? `${peer} has not heard from it${since}`;
  return {
    message: `It serves ${revisionText(revision, newest)}; ${reason}.`,
    remedy:
      `Restore the connection between the node and ${peer}. Until then, take it out of the load balancer if clients ` +
      "must not get an old configuration.",
  };
}

function lateness({ node, own, revision, newest }: NodeFacts): NodeProblem {
  const reason = own?.trouble ?? node.trouble;
  return {
    message: `It serves ${revisionText(revision, newest)}${reason ? `; ${reason}` : ""}.`,
    remedy: reason
      ? "Correct the cause. Until then, the node serves the earlier configuration."
      : "Wait some seconds. If it stays late, read its log.",
  };
}

const revisionText = (revision: number | null, newest: number): string =>
  revision === null
    ? "an unknown revision"
    : revision < newest
      ? `revision ${revision} of ${newest}`
      : `revision ${revision}`;
