/** Waits for the nodes after a write, and sets the headers that report the result. */
import type { WaitResponse } from "@sluice/model";

export type ResponseHeaders = Readonly<Record<string, string>>;

/**
 * | header | value |
 * |---|---|
 * | X-Sluice-Programmed | `true`: all responding nodes serve it; `pending`: not yet; `false`: not in the document |
 * | X-Sluice-Lagging | nodes that do not serve it yet |
 * | X-Sluice-Silent | nodes left out of the wait, because they have not responded for 2 s |
 * | X-Sluice-Problem | why the resource is not served, or why the state is unknown |
 */
export function programmedHeaders(answer: WaitResponse | null): ResponseHeaders {
  const { lagging = [], silent = [], problems: [problem] = [] } = answer ?? {};
  const programmed = problem ? "false" : answer?.programmed ? "true" : "pending";
  const sentence = problem
    ? `${problem.kind} ${problem.namespace}/${problem.name}: ${problem.reason}: ${problem.message}`
    : answer
      ? ""
      : "no source reports what the nodes serve";
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

/** Messages may contain user input: characters other than visible ASCII are not allowed in a header. */
export const safeHeaderValue = (text: string): string => text.replace(/[^\x20-\x7e]+/g, "?").slice(0, MAX_VALUE);
