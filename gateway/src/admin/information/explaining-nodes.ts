/** The explanations of all nodes: the one that most nodes give, and how the others differ from it. */
import {
  type EntityName,
  type ExplainingNode,
  type ExplainRequest,
  type Explanation,
  type ExplanationDifference,
  type FleetExplanation,
  nodePaths,
} from "@sluice/model";
import type { AdminContext } from "../context.ts";
import { askEveryNode } from "./nodes/ask-every-node.ts";

/** Maximum number of nodes that warnings name; `nodes` has all of them. */
const MAX_NAMED = 10;

interface NodeFacts {
  readonly revision: number | null;
  /** Null: the store has one fleet only. */
  readonly fleet: string | null;
}

type Facts = Readonly<Record<string, string | null>>;

interface NodeAnswer {
  readonly node: string;
  readonly explanation: Explanation;
  readonly facts: Facts;
}

/** @throws HttpError 503 when no node answers. */
export async function explainOnEveryNode(
  context: Pick<AdminContext, "fleet">,
  described: ExplainRequest,
): Promise<FleetExplanation> {
  const [{ answered, unanswered }, known] = await Promise.all([
    askEveryNode<Explanation>(context, nodePaths.explain, described),
    knownNodes(context),
  ]);
  const answers = answered
    .map(({ node, body }): NodeAnswer => ({ node, explanation: body, facts: factsOf(body) }))
    .sort((one, other) => one.node.localeCompare(other.node));
  const chosen = mostFrequent(answers);
  const factsOfNode = (node: string): NodeFacts => known.get(node) ?? { revision: null, fleet: null };
  // Fleets have different listeners, so that the answers of their nodes differ as intended.
  const { fleet } = factsOfNode(chosen.node);
  const isOfFleet = ({ node }: { readonly node: string }) => factsOfNode(node).fleet === fleet;
  const nodes = [
    ...answers.filter(isOfFleet).map(({ node, facts }) => ({
      node,
      unanswered: null,
      differences: differencesBetween(facts, chosen.facts),
    })),
    ...unanswered.filter(isOfFleet).map(({ node, reason }) => ({ node, unanswered: reason, differences: [] })),
  ].map((node): ExplainingNode => ({ ...node, revision: factsOfNode(node.node).revision }));
  const warnings = [...chosen.explanation.warnings, ...nodeWarnings(nodes, chosen.node)];
  return { ...chosen.explanation, node: chosen.node, warnings, nodes };
}

/** Of the complete explanations, or else of all, the one that the most nodes give. */
function mostFrequent(answers: readonly NodeAnswer[]): NodeAnswer {
  const complete = answers.filter(({ explanation }) => explanation.unknown === null);
  const groups = Map.groupBy(complete.length > 0 ? complete : answers, ({ facts }) => JSON.stringify(facts));
  const [largest] = [...groups.values()].sort((one, other) => other.length - one.length);
  const [first] = largest ?? [];
  if (first === undefined) throw new Error("no node has answered");
  return first;
}

const nameOf = (entity: EntityName | null): string | null => entity && (entity.name ?? entity.id);

/**
 * The facts by which explanations are compared. Counts, and the reasons that contain them, differ from node to node
 * without a change of the answer.
 */
function factsOf(explanation: Explanation): Facts {
  const { handshake, request, connection, listener, route, service, consumer, plugins, upstream } = explanation;
  const targets = upstream?.targets.map(
    ({ address, healthy, refusal }) =>
      `${address}${healthy === false ? " (unhealthy)" : ""}${refusal === null ? "" : " (refused)"}`,
  );
  return {
    certificate: handshake?.certificate?.id ?? null,
    "client address": (request ?? connection)?.client_address ?? null,
    listener,
    route: nameOf(route),
    service: nameOf(service),
    consumer: nameOf(consumer),
    plugins: plugins.map((plugin) => `${nameOf(plugin)} ${plugin.result}`).join(", ") || null,
    answer: answerOf(explanation),
    targets: targets?.join(", ") || null,
  };
}

function answerOf({ closed, response, upstream, unknown }: Explanation): string {
  if (closed) return `closed: ${closed.reason}`;
  if (response) return String(response.status);
  if (upstream) return `forwarded to ${upstream.method === null ? "" : `${upstream.method} `}${upstream.url}`;
  return `unknown${unknown === null ? "" : `: ${unknown}`}`;
}

const differencesBetween = (here: Facts, explained: Facts): readonly ExplanationDifference[] =>
  Object.keys(explained).flatMap((about) => {
    const difference = { about, here: here[about] ?? null, explained: explained[about] ?? null };
    return difference.here === difference.explained ? [] : [difference];
  });

/** The nodes of `GET /status`, by address. Empty if they are unknown: the explanation is worth more than revisions. */
async function knownNodes({ fleet }: Pick<AdminContext, "fleet">): Promise<ReadonlyMap<string, NodeFacts>> {
  const status = await fleet.status().catch(() => null);
  const nodes: readonly unknown[] = Array.isArray(status?.nodes) ? status.nodes : [];
  return new Map(
    nodes.map((node) => {
      const { address, revision, fleet: name } = Object(node) as Readonly<Record<string, unknown>>;
      const facts = {
        revision: typeof revision === "number" ? revision : null,
        fleet: typeof name === "string" ? name : null,
      };
      return [String(address), facts];
    }),
  );
}

/** A warning for each node that has not answered, explains the request differently, or serves another revision. */
function nodeWarnings(nodes: readonly ExplainingNode[], chosen: string): readonly string[] {
  const expected = nodes.find(({ node }) => node === chosen)?.revision ?? null;
  const warnings = nodes.flatMap(({ node, revision, unanswered, differences }) => {
    if (unanswered !== null) return [`the node ${node} has not explained the request: ${unanswered}`];
    const isOther = revision !== null && expected !== null && revision !== expected;
    const served = isOther ? [`it serves revision ${revision} instead of ${expected}`] : [];
    const facts = differences.map(
      ({ about, here, explained }) => `${about} ${here ?? "none"} instead of ${explained ?? "none"}`,
    );
    if (facts.length > 0)
      return [`the node ${node} explains the request differently: ${[...facts, ...served].join("; ")}`];
    return served.map((sentence) => `the node ${node} gives the same explanation, but ${sentence}`);
  });
  const more = warnings.length - MAX_NAMED;
  return more > 0
    ? [
        ...warnings.slice(0, MAX_NAMED),
        `${more} further nodes differ or have not answered: see nodes in the JSON response`,
      ]
    : warnings;
}
