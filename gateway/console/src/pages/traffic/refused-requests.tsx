/** The last requests that were refused, failed or slow, each with a link to its explanation. */
import type { RecentRequest } from "@sluice/model";
import { useState } from "preact/hooks";
import { read } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { FilterSelect } from "../../parts/filters.tsx";
import { formatDuration } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { RequestActions } from "./request-actions.tsx";
import { answeredBy, groupRequests, type RequestGroup } from "./request-groups.ts";
import { TraceDialog, type TracedRequest } from "./trace-dialog.tsx";

const INTERVAL = 5000;

const filters = [
  ["", "all"],
  ["refused", "answered by the gateway or a plugin"],
  ["failed", "answered by the upstream"],
  ["slow", "slow"],
] as const;
type Filter = (typeof filters)[number][0];

interface RecentRequestList {
  readonly data: readonly RecentRequest[];
}

export function RefusedRequests() {
  const [filter, setFilter] = useState<Filter>("");
  const [traced, setTraced] = useState<TracedRequest>();
  const query = filter === "" ? "" : `?kind=${filter}`;
  const { data, failure } = useLoaded((signal) => read<RecentRequestList>(`requests${query}`, signal), {
    key: filter,
    every: INTERVAL,
  });
  return (
    <section class="recent" aria-labelledby="recent">
      <div class="toolbar">
        <h2 id="recent" class="grow">
          Errors and slow requests
        </h2>
        <FilterSelect label="Show" value={filter} choices={filters} onChange={setFilter} />
      </div>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      <SortableTable
        caption="Errors and slow requests"
        columns={columnsOf(setTraced)}
        rows={groupRequests(data?.data ?? [])}
        keyOf={({ newest }) => newest.request_id}
        empty={
          data
            ? "No recent request was slow, or ended with an error of the gateway or a status of 500 or above."
            : "Loading…"
        }
      />
      <p class="hint">
        Requests with the same route, status and reason are one row. Responses of upstreams with a status of 400 to 499
        are not listed here: watch Live requests with the status 4xx.
      </p>
      {traced && <TraceDialog request={traced} onClose={() => setTraced(undefined)} />}
    </section>
  );
}

const columnsOf = (onTrace: (request: TracedRequest) => void): readonly TableColumn<RequestGroup>[] => [
  { title: "Last", cell: ({ newest }) => newest.time.slice(11, 19), sortBy: ({ newest }) => newest.time },
  { title: "Count", cell: ({ count }) => count, sortBy: ({ count }) => count, isNumeric: true },
  {
    title: "Status",
    cell: ({ newest: { status, kind } }) => (
      <span class={`state ${kind === "slow" ? "warning" : "bad"}`}>{kind === "slow" ? `slow ${status}` : status}</span>
    ),
    sortBy: ({ newest }) => newest.status,
  },
  {
    title: "Answered by",
    cell: ({ newest }) => (
      <>
        {answeredBy(newest)}
        {newest.target !== null && <div class="hint">target {newest.target}</div>}
      </>
    ),
    sortBy: ({ newest }) => `${answeredBy(newest)} ${newest.target ?? ""}`,
  },
  {
    title: "Request",
    cell: ({ newest: { method, host, path } }) => (
      <span class="mono request-line">{method === null ? "invalid request" : `${method} ${host}${path}`}</span>
    ),
    sortBy: ({ newest: { host, path } }) => `${host}${path}`,
  },
  {
    title: "Route",
    cell: ({ newest: { route } }) =>
      route ? <Link to={["entities", "routes", route.id]}>{route.name ?? route.id}</Link> : "–",
    sortBy: ({ newest }) => newest.route?.name ?? "",
  },
  {
    title: "Consumer",
    cell: ({ newest }) => newest.consumer?.name ?? "–",
    sortBy: ({ newest }) => newest.consumer?.name ?? "",
  },
  {
    title: "Why",
    cell: ({ newest }) => <span class="why">{newest.reason}</span>,
    sortBy: ({ newest }) => newest.reason,
  },
  {
    title: "Duration",
    cell: ({ newest }) => formatDuration(newest.latencies.request),
    sortBy: ({ newest }) => newest.latencies.request,
    isNumeric: true,
  },
  {
    title: "More",
    cell: ({ newest: { method, host, path, client_address, consumer } }) =>
      method !== null && (
        <RequestActions
          method={method}
          scheme="http"
          host={host ?? ""}
          path={path ?? "/"}
          client={client_address}
          consumer={consumer?.name ?? null}
          onTrace={onTrace}
        />
      ),
  },
];
