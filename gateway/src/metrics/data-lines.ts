/**
 * The metrics of a node as lines of JSON, with one `MetricsPart` in each line. The admin listener reads them to add up
 * the metrics of all nodes. Writing or reading a line takes a fraction of a millisecond.
 */
import type { MetricsPart, MetricsParts } from "./slices.ts";

/** The media type that the admin listener requests from the status listener. */
export const DATA_LINES = "application/x-ndjson";

export async function* metricsToJsonLines(parts: MetricsParts): AsyncGenerator<string> {
  for await (const part of parts) {
    yield `${JSON.stringify({ part: { ...part, numbers: Array.from(part.numbers) } })}\n`;
  }
}

/** Throws for a line that is not JSON, or is not terminated. */
export async function* metricsFromJsonLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<MetricsPart> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { part } = JSON.parse(line) as { readonly part?: MetricsPart };
      // Nodes of earlier versions also send a line without `part`.
      if (part !== undefined) yield part;
    }
  }
  if (rest !== "") throw new SyntaxError("the last line is not terminated");
}
