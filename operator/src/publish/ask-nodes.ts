/** Calls an endpoint of a plugin on many nodes at the same time. */
import { isEndpointFound, type PluginEndpointCall, type PluginEndpointResults } from "@sluice/model";
import type { NodeConnector } from "./node-client.ts";

export interface AskedNode {
  readonly address: string;
  /** The reason why the node is not asked, such as its silence; null: it is asked. */
  readonly reason: string | null;
}

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
