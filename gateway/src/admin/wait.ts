/** The wait for the nodes after a write, and what the answer's headers say of it (house decision 10). */
import type { WaitAnswer, WaitRequest, Written } from "@sluice/model";

export type Headers = Readonly<Record<string, string>>;

/** Asks the operator; null when it cannot be reached or gives no answer. */
export type AskOperator = (request: WaitRequest) => Promise<WaitAnswer | null>;

/** What one question may hold. */
const MAX_RESOURCES = 100;

/** Resolves when every node has what was written, or `timeout` milliseconds later. */
export async function waitForNodes(
  written: readonly Written[],
  { ask, timeout }: { readonly ask: AskOperator; readonly timeout: number },
): Promise<Headers> {
  if (written.length === 0) return {};
  const questions = Array.from({ length: Math.ceil(written.length / MAX_RESOURCES) }, (_, index) =>
    ask({ resources: written.slice(index * MAX_RESOURCES, (index + 1) * MAX_RESOURCES), timeout }),
  );
  return programmedHeaders(await Promise.all(questions));
}

/**
 * | header | value |
 * |---|---|
 * | X-Sluice-Programmed | `true`: every node that answers serves it; `pending`: not yet; `false`: kept out of the document |
 * | X-Sluice-Lagging | nodes that do not have it yet |
 * | X-Sluice-Silent | nodes that have not answered for 2 s, which are not waited for |
 * | X-Sluice-Problem | why it is kept out, or why nothing is known |
 */
export function programmedHeaders(answers: readonly (WaitAnswer | null)[]): Headers {
  const told = answers.filter((answer) => answer !== null);
  const nodes = (which: "lagging" | "silent") => [...new Set(told.flatMap((answer) => answer[which]))].join(", ");
  const [problem] = told.flatMap(({ problems }) => problems);
  const [lagging, silent] = [nodes("lagging"), nodes("silent")];
  const complete = told.length === answers.length;
  const programmed = problem ? "false" : complete && told.every((answer) => answer.programmed) ? "true" : "pending";
  const sentence = problem
    ? `${problem.kind} ${problem.namespace}/${problem.name}: ${problem.reason}: ${problem.message}`
    : complete
      ? ""
      : "the operator cannot be reached";
  const headers = {
    "X-Sluice-Programmed": programmed,
    "X-Sluice-Lagging": programmed === "true" ? "" : lagging,
    "X-Sluice-Silent": silent,
    "X-Sluice-Problem": sentence,
  };
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === "" ? [] : [[name, headerValue(value)]])),
  );
}

const MAX_VALUE = 512;

/** Messages may hold what a person typed: anything but visible ASCII has no place in a header. */
const headerValue = (text: string): string => text.replace(/[^\x20-\x7e]+/g, "?").slice(0, MAX_VALUE);
