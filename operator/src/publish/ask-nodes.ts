/** Calls an endpoint of a plugin on many nodes at the same time. */
import {
  type ExplainRequest,
  isEndpointFound,
  NODE_ENDPOINT_ID,
  nodePaths,
  type PluginEndpointCall,
  type PluginEndpointResults,
  SHARED_FLEET,
} from "@sluice/model";
import type { NodeConnector } from "./node-client.ts";

export interface AskedNode {
  readonly address: string;
  /** The reason why the node is not asked, such as its silence; null: it is asked. */
  readonly reason: string | null;
}

interface KnownNode {
  readonly address: string;
  readonly fleet: string;
  readonly lastError: string | null;
}

interface NodesToAsk {
  readonly call: PluginEndpointCall;
  /** The addresses of the nodes that do not answer. */
  readonly silent: ReadonlySet<string>;
}

/** The nodes that may know the answer. */
export const nodesToAsk = (nodes: readonly KnownNode[], { call, silent }: NodesToAsk): readonly AskedNode[] =>
  nodes
    .filter(({ fleet }) => fleet === SHARED_FLEET || !concernsSharedFleet(call))
    .map(({ address, lastError }) => ({
      address,
      reason: silent.has(address) ? (lastError ?? "it does not answer") : null,
    }));

/**
 * Whether only nodes of the shared fleet can answer: a described request without the port of a listener goes to the
 * listeners that each node has by its settings, and the documents of other fleets have no Routes for these.
 */
const concernsSharedFleet = ({ plugin, request: { path, body } }: PluginEndpointCall): boolean =>
  plugin === NODE_ENDPOINT_ID &&
  path[0] === nodePaths.explain &&
  ((body as ExplainRequest | undefined)?.port ?? null) === null;

/** Resolves when every node has answered or failed, or for a GET request when one node has the resource. */
export async function askNodes(
  nodes: readonly AskedNode[],
  call: PluginEndpointCall,
  ask: NodeConnector["askPlugin"],
): Promise<PluginEndpointResults> {
  const answered: PluginEndpointResults["answered"][number][] = [];
  const reasons = new Map(nodes.map(({ address, reason }) => [address, reason ?? "no response"]));
  const found = Promise.withResolvers<void>();
  const ended = new AbortController();
  const asked = nodes
    .filter(({ reason }) => reason === null)
    .map(async ({ address }) => {
      try {
        const { response } = await ask({ address, signal: ended.signal }, call);
        answered.push({ node: address, response });
        reasons.delete(address);
        if (isEndpointFound(call.request, response)) found.resolve();
      } catch (error) {
        reasons.set(address, (error as Error).message);
      }
    });
  await Promise.race([found.promise, Promise.all(asked)]);
  ended.abort();
  return { answered: [...answered], unanswered: [...reasons].map(([node, reason]) => ({ node, reason })) };
}
