/** Sums counts of requests over workers, nodes and entities. */
import type { OperationTraffic, Traffic, TrafficCounts } from "@sluice/model";
import { mergeBuckets } from "./latency-histogram.ts";

/** @param parts At least one; their intervals have the same length */
export const mergeTraffic = (parts: readonly Traffic[]): Traffic => ({
  seconds: Math.max(...parts.map(({ seconds }) => seconds)),
  total: sumCounts(parts.map(({ total }) => total)),
  routes: sumByEntity(parts.flatMap(({ routes }) => routes)),
  consumers: sumByEntity(parts.flatMap(({ consumers }) => consumers)),
  operations: sumByOperation(parts.flatMap(({ operations = [] }) => operations)),
});

/** One entry for each entity. */
export function sumByEntity(counts: readonly TrafficCounts[]): readonly TrafficCounts[] {
  const byId = Map.groupBy(counts, ({ entity }) => entity?.id);
  return [...byId.values()].map(sumCounts);
}

function sumByOperation(counts: readonly OperationTraffic[]): readonly OperationTraffic[] {
  const byId = Map.groupBy(counts, ({ entity }) => entity?.id);
  return [...byId.values()].map((same) => ({
    ...sumCounts(same),
    type: same[0]?.type ?? "",
    hash: same[0]?.hash ?? "",
    failed: same.reduce((total, { failed }) => total + failed, 0),
  }));
}

/** The sum of the counts, with the names of the last entry. */
export function sumCounts(counts: readonly TrafficCounts[]): TrafficCounts {
  const sum = (member: "requests" | "client_errors" | "server_errors" | "refused") =>
    counts.reduce((total, each) => total + each[member], 0);
  return {
    entity: counts.at(-1)?.entity ?? null,
    service: counts.at(-1)?.service ?? null,
    requests: sum("requests"),
    client_errors: sum("client_errors"),
    server_errors: sum("server_errors"),
    refused: sum("refused"),
    latencies: mergeBuckets(counts.map(({ latencies }) => latencies)),
  };
}
