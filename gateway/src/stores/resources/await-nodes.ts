/** Asks the operator whether the nodes serve what was written to resources. */
import type { WaitRequest, WaitResponse, WrittenResource } from "@sluice/model";

/** Null when the operator cannot be reached or does not answer. */
export type AskOperator = (request: WaitRequest) => Promise<WaitResponse | null>;

/** Maximum resources per request. */
const MAX_RESOURCES = 100;

/** Sends as many requests as necessary and merges their answers. */
export async function awaitNodes(
  written: readonly WrittenResource[],
  { ask, timeout }: { readonly ask: AskOperator; readonly timeout: number },
): Promise<WaitResponse | null> {
  const questions = Array.from({ length: Math.ceil(written.length / MAX_RESOURCES) }, (_, index) =>
    ask({ resources: written.slice(index * MAX_RESOURCES, (index + 1) * MAX_RESOURCES), timeout }),
  );
  const answers = await Promise.all(questions);
  const told = answers.filter((answer) => answer !== null);
  if (told.length < answers.length) return null;
  const nodes = (which: "lagging" | "silent") => [...new Set(told.flatMap((answer) => answer[which]))];
  const lagging = nodes("lagging");
  return {
    programmed: told.every(({ programmed }) => programmed),
    revision: Math.max(...told.map(({ revision }) => revision)),
    acknowledged: (told[0]?.acknowledged ?? []).filter((node) => !lagging.includes(node)),
    lagging,
    silent: nodes("silent"),
    problems: told.flatMap(({ problems }) => problems),
  };
}
