/** Sends a request to an endpoint of a plugin to all nodes, through the database, and collects the responses. */
import { setTimeout as sleep } from "node:timers/promises";
import {
  isEndpointFound,
  NODE_ENDPOINT_TIMEOUT,
  type PluginEndpointCall,
  type PluginEndpointResults,
} from "@sluice/model";
import { describeDatabaseError } from "../../database/describe-error.ts";
import type { Database } from "../../database/driver.ts";
import { type RegisteredNode, readNodes } from "../../database/nodes.ts";
import { deleteCall, insertCall, RESULTS_CHANNEL, readResults } from "../../database/plugin-calls.ts";
import { NodesUnreachable } from "../store.ts";

/** Milliseconds between queries: a node may fall silent, and a notification may be lost. */
const POLL_INTERVAL = 250;

/** @throws NodesUnreachable when the database does not answer. */
export async function callNodes(
  database: Database,
  call: PluginEndpointCall,
  timeout = NODE_ENDPOINT_TIMEOUT,
): Promise<PluginEndpointResults> {
  try {
    return await callThrough(database, call, performance.now() + timeout);
  } catch (error) {
    throw new NodesUnreachable(`the nodes cannot be asked: ${describeDatabaseError(error)}`);
  }
}

async function callThrough(database: Database, call: PluginEndpointCall, until: number) {
  let heard = Promise.withResolvers<void>();
  const end = await database.listen(RESULTS_CHANNEL, () => heard.resolve());
  let id: string | null = null;
  try {
    id = await insertCall(database, call);
    for (;;) {
      heard = Promise.withResolvers();
      const isLate = performance.now() >= until;
      const { results, isComplete } = await progressOf(database, id, call);
      if (isComplete || isLate) return results;
      await Promise.race([heard.promise, sleep(POLL_INTERVAL, undefined, { ref: false })]);
    }
  } finally {
    end();
    // If this deletion fails, the call is deleted together with a later call.
    if (id !== null) await deleteCall(database, id).catch(() => undefined);
  }
}

/**
 * The results so far. They are complete when a node has found the resource of a GET, or when every node that is not
 * silent has answered.
 */
async function progressOf(database: Database, id: string, call: PluginEndpointCall) {
  const responses = await readResults(database, id);
  const nodes = await readNodes(database);
  const has = (node: RegisteredNode) => responses.has(node.id);
  const results: PluginEndpointResults = {
    answered: nodes.flatMap((node) => {
      const result = responses.get(node.id);
      return result ? [{ node: node.address, ...result }] : [];
    }),
    unanswered: nodes
      .filter((node) => !has(node))
      .map(({ address, silent }) => ({ node: address, reason: silent ? "it sends no heartbeats" : "no response" })),
  };
  const isFound = results.answered.some(({ response }) => isEndpointFound(call.request, response));
  return { results, isComplete: isFound || nodes.every((node) => node.silent || has(node)) };
}
