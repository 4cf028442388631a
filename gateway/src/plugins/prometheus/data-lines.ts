/**
 * The metrics of a node as lines of JSON, for the admin listener that adds up the nodes: one with the gauges, then one
 * for every part of what requests were counted in. To write or to read one takes a fraction of a millisecond.
 */
import type { MetricObject } from "prom-client";
import type { Part } from "./slices.ts";

/** The media type by which the status listener knows who asks. */
export const DATA_LINES = "application/x-ndjson";

/** One line. */
export type Datum = { readonly gauges: readonly MetricObject[] } | { readonly part: Part };

export async function* writeData(
  gauges: readonly MetricObject[],
  parts: Iterable<Part> | AsyncIterable<Part>,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ gauges })}\n`;
  for await (const part of parts) {
    yield `${JSON.stringify({ part: { ...part, numbers: Array.from(part.numbers) } })}\n`;
  }
}

/** Throws where a line is no JSON. */
export async function* readData(body: AsyncIterable<Uint8Array>): AsyncGenerator<Datum> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Datum;
  }
  if (rest !== "") throw new SyntaxError("the last line has no end");
}
