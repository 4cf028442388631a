/** Rates, errors and latencies, live. */
import { useState } from "preact/hooks";
import { Link } from "../../app/navigation.tsx";
import { useConsoleSession } from "../../app/session.ts";
import type { TrafficRow } from "../../metrics/traffic-history.ts";
import { type TrafficScope, trafficScopes } from "../../metrics/traffic-snapshot.ts";
import { useTraffic } from "../../metrics/use-traffic.ts";
import { formatDuration, formatRate, formatShare } from "../../parts/format.ts";
import { type ChartLine, LineChart } from "../../parts/line-chart.tsx";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { RefusedRequests } from "./refused-requests.tsx";

const scopeTitles: Readonly<Record<TrafficScope, string>> = {
  route: "Routes",
  service: "Services",
  consumer: "Consumers",
};

const rateLines: readonly ChartLine[] = [{ label: "requests", tone: "one", value: ({ rate }) => rate }];
const errorLines: readonly ChartLine[] = [
  { label: "5xx", tone: "three", value: ({ serverErrorRate }) => serverErrorRate },
  { label: "4xx", tone: "two", value: ({ clientErrorRate }) => clientErrorRate },
];
const latencyLines: readonly ChartLine[] = [
  { label: "50 %", tone: "one", value: ({ p50 }) => p50 },
  { label: "95 %", tone: "two", value: ({ p95 }) => p95 },
  { label: "99 %", tone: "three", value: ({ p99 }) => p99 },
];

export function TrafficPage() {
  const { history, failure } = useTraffic();
  const [scope, setScope] = useState<TrafficScope>("route");
  const [filter, setFilter] = useState("");
  const snapshot = history.latest;
  const rows = history.rows(scope).filter(({ name }) => name.toLowerCase().includes(filter.trim().toLowerCase()));
  const perSecond = (value: number) => `${formatRate(value)}/s`;

  return (
    <>
      <h1>Traffic</h1>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {snapshot && !snapshot.hasRequests && <NotMeasured />}
      <div class="charts">
        <LineChart title="Requests" points={history.points} lines={rateLines} format={perSecond} />
        <LineChart title="Errors" points={history.points} lines={errorLines} format={perSecond} />
        <LineChart title="Latency" points={history.points} lines={latencyLines} format={formatDuration} />
      </div>
      <div class="toolbar">
        <fieldset class="segmented">
          <legend class="sr-only">Requests by</legend>
          {trafficScopes.map((one) => (
            <label key={one}>
              <input type="radio" name="scope" checked={scope === one} onChange={() => setScope(one)} />
              <span>{scopeTitles[one]}</span>
            </label>
          ))}
        </fieldset>
        <label class="grow">
          <span class="sr-only">Filter by name</span>
          <input
            type="search"
            placeholder="Filter by name"
            value={filter}
            onInput={({ currentTarget }) => setFilter(currentTarget.value)}
          />
        </label>
      </div>
      <SortableTable
        key={scope}
        caption={`Traffic by ${scope}`}
        columns={scope === "consumer" ? columns.filter(({ title }) => !title.endsWith("%")) : columns}
        rows={rows}
        keyOf={({ name }) => name}
        sorted={{ column: 1, descending: true }}
        empty={
          scope === "consumer"
            ? "No request of a consumer has been counted. The plugin prometheus counts them with per_consumer."
            : "No request has been counted."
        }
      />
      <p class="hint">
        Rates and latencies are averages of the last minute. Requests are counted since the nodes started.
      </p>
      <RefusedRequests />
      {snapshot && snapshot.unrouted.size > 0 && (
        <section aria-labelledby="unrouted">
          <h2 id="unrouted">Requests without a route</h2>
          <ul class="counts">
            {[...snapshot.unrouted].map(([reason, count]) => (
              <li key={reason}>
                <strong>{count.toLocaleString("en")}</strong> {reason.replaceAll("_", " ")}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function NotMeasured() {
  const { canWrite } = useConsoleSession();
  return (
    <Notice kind="info">
      Requests are counted after the first request with the plugin <code>prometheus</code>, with its fields{" "}
      <code>status_code_metrics</code> and <code>latency_metrics</code>.{" "}
      {canWrite && (
        <Link to={["entities", "plugins", "new"]} query={{ name: "prometheus" }}>
          Create it for all requests
        </Link>
      )}
    </Notice>
  );
}

const columns: readonly TableColumn<TrafficRow>[] = [
  { title: "Name", cell: ({ name }) => name, sortBy: ({ name }) => name },
  { title: "Requests/s", cell: ({ rate }) => formatRate(rate), sortBy: ({ rate }) => rate, isNumeric: true },
  {
    title: "5xx",
    cell: ({ rate, serverErrorRate }) => (rate === 0 ? "–" : formatShare(serverErrorRate / rate)),
    sortBy: ({ serverErrorRate }) => serverErrorRate,
    isNumeric: true,
  },
  {
    title: "4xx",
    cell: ({ rate, clientErrorRate }) => (rate === 0 ? "–" : formatShare(clientErrorRate / rate)),
    sortBy: ({ clientErrorRate }) => clientErrorRate,
    isNumeric: true,
  },
  {
    title: "Refused",
    cell: ({ rate, refusedRate }) => (rate === 0 ? "–" : formatShare(refusedRate / rate)),
    sortBy: ({ refusedRate }) => refusedRate,
    isNumeric: true,
  },
  { title: "50 %", cell: ({ p50 }) => formatDuration(p50), sortBy: ({ p50 }) => p50 ?? -1, isNumeric: true },
  { title: "95 %", cell: ({ p95 }) => formatDuration(p95), sortBy: ({ p95 }) => p95 ?? -1, isNumeric: true },
  { title: "99 %", cell: ({ p99 }) => formatDuration(p99), sortBy: ({ p99 }) => p99 ?? -1, isNumeric: true },
  {
    title: "Total",
    cell: ({ requests }) => requests.toLocaleString("en"),
    sortBy: ({ requests }) => requests,
    isNumeric: true,
  },
];
