import { metricsText } from "./slices.ts";
import type { MetricTable } from "./table.ts";

/** The tables in Prometheus text format. */
export async function printMetrics(tables: readonly MetricTable[]): Promise<string> {
  let text = "";
  for await (const slice of metricsText(tables)) text += Buffer.from(slice).toString();
  return text;
}
