/** Waits for the nodes after a write, and sets the headers that report the result. */
import type { WaitAnswer } from "@sluice/model";

export type ResponseHeaders = Readonly<Record<string, string>>;

/**
 * | header | value |
 * |---|---|
 * | X-Sluice-Programmed | `true`: every node that answers serves it; `pending`: not yet; `false`: kept out of the document |
 * | X-Sluice-Lagging | nodes that do not have it yet |
 * | X-Sluice-Silent | nodes that have not answered for 2 s, which are not waited for |
 * | X-Sluice-Problem | why it is kept out, or why nothing is known |
 */
export function programmedHeaders(answer: WaitAnswer | null): ResponseHeaders {
  const { lagging = [], silent = [], problems: [problem] = [] } = answer ?? {};
  const programmed = problem ? "false" : answer?.programmed ? "true" : "pending";
  const sentence = problem
    ? `${problem.kind} ${problem.namespace}/${problem.name}: ${problem.reason}: ${problem.message}`
    : answer
      ? ""
      : "nobody tells what the nodes serve";
  const headers = {
    "X-Sluice-Programmed": programmed,
    "X-Sluice-Lagging": programmed === "true" ? "" : lagging.join(", "),
    "X-Sluice-Silent": silent.join(", "),
    "X-Sluice-Problem": sentence,
  };
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === "" ? [] : [[name, safeHeaderValue(value)]])),
  );
}

const MAX_VALUE = 512;

/** Messages may hold what a person typed: anything but visible ASCII has no place in a header. */
export const safeHeaderValue = (text: string): string => text.replace(/[^\x20-\x7e]+/g, "?").slice(0, MAX_VALUE);
