/** The requests of all nodes as they end, while the user watches them. */
import { useId, useState } from "preact/hooks";
import { announceToReader } from "../../app/announcer.tsx";
import { Link } from "../../app/navigation.tsx";
import { FilterSelect, FilterText } from "../../parts/filters.tsx";
import { formatDuration } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { type LiveRequest, MAX_LISTED } from "./live-request-list.ts";
import { RequestActions } from "./request-actions.tsx";
import { TraceDialog, type TracedRequest } from "./trace-dialog.tsx";
import { useRequestWatch, type WatchFilter } from "./use-request-watch.ts";

const statuses = [
  ["", "all statuses"],
  ["2", "2xx"],
  ["3", "3xx"],
  ["4", "4xx"],
  ["5", "5xx"],
] as const;

export function LiveRequests() {
  const [filter, setFilter] = useState<WatchFilter>({ route: "", status: "", min_latency: "" });
  const [isWatching, setWatching] = useState(false);
  const [traced, setTraced] = useState<TracedRequest>();
  const { list, failure, unanswered } = useRequestWatch(isWatching ? filter : null);
  const heading = useId();
  const set = (member: keyof WatchFilter) => (value: string) => setFilter({ ...filter, [member]: value.trim() });

  function toggle(event: Event): void {
    event.preventDefault();
    setWatching(!isWatching);
    announceToReader(isWatching ? "The list has stopped." : "The list shows new requests.");
  }

  return (
    <section class="recent" aria-labelledby={heading}>
      <h2 id={heading}>Live requests</h2>
      <form class="toolbar" onSubmit={toggle} noValidate>
        <FilterText
          label="Route of the requests"
          placeholder="Name or id of a route"
          value={filter.route}
          disabled={isWatching}
          onChange={set("route")}
        />
        <FilterSelect
          label="Status of the requests"
          value={filter.status}
          choices={statuses}
          disabled={isWatching}
          onChange={set("status")}
        />
        <FilterText
          label="Shortest duration in milliseconds"
          placeholder="Slower than … ms"
          isNumeric
          value={filter.min_latency}
          disabled={isWatching}
          onChange={set("min_latency")}
        />
        <button type="submit" class="primary">
          {isWatching ? "Stop" : "Start"}
        </button>
        <button type="button" onClick={() => setTraced({ method: "GET", url: "" })}>
          Trace a request…
        </button>
      </form>
      {isWatching && failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {isWatching && unanswered.length > 0 && (
        <Notice kind="warning">Requests of these nodes are missing: {unanswered.join("; ")}</Notice>
      )}
      <SortableTable
        caption="Live requests"
        columns={columnsOf(setTraced)}
        rows={list.requests}
        keyOf={({ node, request_id }) => `${node} ${request_id}`}
        empty={isWatching ? "Waiting for requests…" : "Press Start to list requests as they end."}
      />
      <p class="hint">
        The newest {MAX_LISTED} requests, without queries. The list pauses while the tab is hidden.
        {list.missed > 0 && ` ${list.missed.toLocaleString("en")} more are not listed, because there were too many.`}
      </p>
      {traced && <TraceDialog request={traced} onClose={() => setTraced(undefined)} />}
    </section>
  );
}

const toneOf = (status: number): string => (status >= 500 ? "bad" : status >= 400 ? "warning" : "good");

const columnsOf = (onTrace: (request: TracedRequest) => void): readonly TableColumn<LiveRequest>[] => [
  { title: "Time", cell: ({ time }) => time.slice(11, 19) },
  { title: "Status", cell: ({ status }) => <span class={`state ${toneOf(status)}`}>{status}</span> },
  {
    title: "Request",
    cell: ({ method, host, path }) => (
      <span class="mono request-line">{method === undefined ? "invalid request" : `${method} ${host}${path}`}</span>
    ),
  },
  { title: "Route", cell: ({ route }) => (route ? <Link to={["entities", "routes", route]}>{route}</Link> : "–") },
  { title: "Consumer", cell: ({ consumer }) => consumer ?? "–" },
  { title: "Answered by", cell: ({ plugin, target }) => plugin ?? target ?? "the gateway" },
  { title: "Duration", cell: ({ latencies }) => formatDuration(latencies.request), isNumeric: true },
  {
    title: "More",
    cell: ({ method, host, path, client, tls, consumer }) =>
      method !== undefined && (
        <RequestActions
          method={method}
          scheme={tls === undefined ? "http" : "https"}
          host={host ?? ""}
          path={path ?? "/"}
          client={client ?? null}
          consumer={consumer ?? null}
          onTrace={onTrace}
        />
      ),
  },
];
