/** Nodes that did not answer the admin API. */
import type { Logger } from "pino";

export interface UnansweredNode {
  readonly node: string;
  readonly reason: string;
}

/**
 * Returns a function that warns that a node does not answer. The function warns again of the same node only after that
 * node has answered.
 *
 * @param effect What is missing because the node did not answer.
 */
export function reportUnanswered(
  log: Pick<Logger, "warn">,
  effect: string,
): (unanswered: readonly UnansweredNode[]) => void {
  let known: ReadonlySet<string> = new Set();
  return (unanswered) => {
    for (const { node, reason } of unanswered)
      if (!known.has(node)) log.warn(`the node ${node} did not answer, so ${effect}: ${reason}`);
    known = new Set(unanswered.map(({ node }) => node));
  };
}
