/** Columns of the tables of traffic. */
import { formatDuration, formatRate } from "../parts/format.ts";
import type { TableColumn } from "../parts/sortable-table.tsx";
import type { TrafficEntry } from "./traffic-memory.ts";

export const rateColumn: TableColumn<TrafficEntry> = {
  title: "Requests/s",
  cell: ({ requests }) => formatRate(requests),
  sortBy: ({ requests }) => requests,
  isNumeric: true,
};

export const latencyColumns = (["p50", "p95", "p99"] as const).map(
  (name): TableColumn<TrafficEntry> => ({
    title: `${name.slice(1)} %`,
    cell: ({ latencies }) => formatDuration(latencies[name]),
    sortBy: ({ latencies }) => latencies[name] ?? -1,
    isNumeric: true,
  }),
);
