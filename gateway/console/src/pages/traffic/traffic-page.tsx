/** Rates, errors and latencies, live. */
import { useState } from "preact/hooks";
import { Link } from "../../app/navigation.tsx";
import { latencyColumns, rateColumn } from "../../metrics/traffic-columns.ts";
import type { TrafficEntry, TrafficSubject } from "../../metrics/traffic-memory.ts";
import { useTraffic } from "../../metrics/use-traffic.ts";
import { FilterText } from "../../parts/filters.tsx";
import { formatDuration, formatRate, formatShare } from "../../parts/format.ts";
import { type ChartLine, LineChart } from "../../parts/line-chart.tsx";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { LiveRequests } from "./live-requests.tsx";
import { RefusedRequests } from "./refused-requests.tsx";

/** Operations have a page of their own. */
type TrafficScope = Exclude<TrafficSubject, "operations">;

const scopeTitles: Readonly<Record<TrafficScope, string>> = {
  routes: "Routes",
  services: "Services",
  consumers: "Consumers",
};

const rateLines: readonly ChartLine[] = [{ label: "requests", tone: "one", value: ({ requests }) => requests }];
const errorLines: readonly ChartLine[] = [
  { label: "5xx", tone: "three", value: ({ server_errors }) => server_errors },
  { label: "4xx", tone: "two", value: ({ client_errors }) => client_errors },
];
const latencyLines: readonly ChartLine[] = [
  { label: "50 %", tone: "one", value: ({ latencies }) => latencies.p50 },
  { label: "95 %", tone: "two", value: ({ latencies }) => latencies.p95 },
  { label: "99 %", tone: "three", value: ({ latencies }) => latencies.p99 },
];

const perSecond = (value: number) => `${formatRate(value)}/s`;

export function TrafficPage() {
  const [scope, setScope] = useState<TrafficScope>("routes");
  const [filter, setFilter] = useState("");
  const { memory, failure } = useTraffic(scope);
  const wanted = filter.trim().toLowerCase();
  const rows = memory.entries(scope).filter((entry) => titleOf(entry).toLowerCase().includes(wanted));

  return (
    <>
      <h1>Traffic</h1>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      <div class="charts">
        <LineChart title="Requests" points={memory.points} lines={rateLines} format={perSecond} />
        <LineChart title="Errors" points={memory.points} lines={errorLines} format={perSecond} />
        <LineChart title="Latency" points={memory.points} lines={latencyLines} format={formatDuration} />
      </div>
      <div class="toolbar">
        <fieldset class="segmented">
          <legend class="sr-only">Requests by</legend>
          {(Object.keys(scopeTitles) as TrafficScope[]).map((one) => (
            <label key={one}>
              <input type="radio" name="scope" checked={scope === one} onChange={() => setScope(one)} />
              <span>{scopeTitles[one]}</span>
            </label>
          ))}
        </fieldset>
        <FilterText label="Filter by name" value={filter} onChange={setFilter} />
      </div>
      <SortableTable
        key={scope}
        caption={`Traffic by ${scopeTitles[scope].toLowerCase()}`}
        columns={columnsOf(scope)}
        rows={rows}
        keyOf={({ id }) => id}
        sorted={{ column: 1, descending: true }}
        empty="No request in the last ten seconds."
      />
      <p class="hint">Rates and latencies of the last ten seconds, of {memory.nodesText}.</p>
      <RefusedRequests />
      <LiveRequests />
    </>
  );
}

const titleOf = ({ id, name }: TrafficEntry): string => name ?? id;

const shares = [
  ["5xx", "server_errors"],
  ["4xx", "client_errors"],
  ["Refused", "refused"],
] as const;

const columnsOf = (scope: TrafficScope): readonly TableColumn<TrafficEntry>[] => [
  {
    title: "Name",
    cell: (entry) => <Link to={["entities", scope, entry.id]}>{titleOf(entry)}</Link>,
    sortBy: titleOf,
  },
  rateColumn,
  ...shares.map(
    ([title, member]): TableColumn<TrafficEntry> => ({
      title,
      cell: ({ requests, [member]: part }) => (requests === 0 ? "–" : formatShare(part / requests)),
      sortBy: (entry) => entry[member],
      isNumeric: true,
    }),
  ),
  ...latencyColumns,
];
