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
import { TraceDialog, type TracedRequest } from "./trace-dialog.tsx";

const INTERVAL = 5000;

const filters = [
  ["", "all"],
  ["refused", "refused"],
  ["failed", "failed"],
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
          Refused, failed and slow requests
        </h2>
        <FilterSelect label="Show" value={filter} choices={filters} onChange={setFilter} />
      </div>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      <SortableTable
        caption="Refused, failed and slow requests"
        columns={columnsOf(setTraced)}
        rows={data?.data ?? []}
        keyOf={({ request_id }) => request_id}
        empty={data ? "No request was refused, failed or slow." : "Loading…"}
      />
      {traced && <TraceDialog request={traced} onClose={() => setTraced(undefined)} />}
    </section>
  );
}

const columnsOf = (onTrace: (request: TracedRequest) => void): readonly TableColumn<RecentRequest>[] => [
  { title: "Time", cell: ({ time }) => time.slice(11, 19), sortBy: ({ time }) => time },
  {
    title: "Status",
    cell: ({ status, kind }) => (
      <span class={`state ${kind === "slow" ? "warning" : "bad"}`}>{kind === "slow" ? `slow ${status}` : status}</span>
    ),
    sortBy: ({ status }) => status,
  },
  {
    title: "Request",
    cell: ({ method, host, path }) => (
      <span class="mono">{method === null ? "cannot be read" : `${method} ${host}${path}`}</span>
    ),
    sortBy: ({ host, path }) => `${host}${path}`,
  },
  {
    title: "Route",
    cell: ({ route }) => (route ? <Link to={["entities", "routes", route.id]}>{route.name ?? route.id}</Link> : "–"),
    sortBy: ({ route }) => route?.name ?? "",
  },
  { title: "Consumer", cell: ({ consumer }) => consumer?.name ?? "–", sortBy: ({ consumer }) => consumer?.name ?? "" },
  { title: "Target", cell: ({ target }) => target ?? "–", sortBy: ({ target }) => target ?? "" },
  { title: "Why", cell: ({ reason }) => reason, sortBy: ({ reason }) => reason },
  {
    title: "Duration",
    cell: ({ latencies }) => formatDuration(latencies.request),
    sortBy: ({ latencies }) => latencies.request,
    isNumeric: true,
  },
  {
    title: "More",
    cell: ({ method, host, path, client_address }) =>
      method !== null && (
        <RequestActions
          method={method}
          scheme="http"
          host={host ?? ""}
          path={path ?? "/"}
          client={client_address}
          onTrace={onTrace}
        />
      ),
  },
];
