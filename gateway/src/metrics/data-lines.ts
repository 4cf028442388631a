/**
 * The metrics of a node as lines of JSON, for the admin listener that sums the nodes: one line with the gauges, then
 * one per part of the request metrics. Writing or reading a line takes a fraction of a millisecond.
 */
import type { MetricObject } from "prom-client";
import type { MetricsPart } from "./slices.ts";

/** The media type that the admin listener requests from the status listener. */
export const DATA_LINES = "application/x-ndjson";

/** One line. */
export type Datum = { readonly gauges: readonly MetricObject[] } | { readonly part: MetricsPart };

export async function* writeData(
  gauges: readonly MetricObject[],
  parts: Iterable<MetricsPart> | AsyncIterable<MetricsPart>,
): AsyncGenerator<string> {
  yield `${JSON.stringify({ gauges })}\n`;
  for await (const part of parts) {
    yield `${JSON.stringify({ part: { ...part, numbers: Array.from(part.numbers) } })}\n`;
  }
}

/** Throws for a line that is not JSON. */
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
