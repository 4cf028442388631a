/** The operations of GraphQL services: rates, errors and latencies, live. */
import { useState } from "preact/hooks";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { useConsoleSession } from "../../app/session.ts";
import { latencyColumns, rateColumn } from "../../metrics/traffic-columns.ts";
import type { TrafficEntry } from "../../metrics/traffic-memory.ts";
import { useTraffic } from "../../metrics/use-traffic.ts";
import { FilterSelect, FilterText } from "../../parts/filters.tsx";
import { formatShare } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { type CountedScopes, loadCountedScopes, PLUGIN } from "./counted-scopes.ts";

export function GraphqlPage() {
  const { data, failure } = useLoaded(loadCountedScopes, { key: PLUGIN });
  return (
    <>
      <h1>GraphQL</h1>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {data?.scopes.length === 0 && <NothingCounted />}
      {data && data.scopes.length > 0 && <Operations counted={data} />}
      {data === undefined && failure === undefined && <p class="hint">Loading…</p>}
    </>
  );
}

function NothingCounted() {
  const { canWrite, readOnlyReason } = useConsoleSession();
  return (
    <>
      <p class="lead">
        This page lists the operations of GraphQL services with their rates, errors and latencies. They are not counted
        yet: add the plugin <code>{PLUGIN}</code> to a service or a route. The plugin also refuses documents beyond its
        limits; to count operations only, set <code>enforce</code> to false.
      </p>
      {canWrite ? (
        <Link to={["entities", "plugins", "new"]} query={{ name: PLUGIN }} class="button">
          Add the plugin
        </Link>
      ) : (
        <Notice kind="info">{readOnlyReason}</Notice>
      )}
    </>
  );
}

function Operations({ counted: { scopes, others } }: { readonly counted: CountedScopes }) {
  const { memory, failure } = useTraffic("operations");
  const [filter, setFilter] = useState("");
  const [service, setService] = useState("");
  const entries = memory.entries("operations");
  const services = [...new Set(entries.map(serviceOf))].sort();
  const wanted = filter.trim().toLowerCase();
  const rows = entries.filter(
    (entry) =>
      (service === "" || serviceOf(entry) === service) &&
      `${nameOf(entry)} ${hashOf(entry)}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      <p class="lead">
        Operations are counted for{" "}
        {scopes.map(({ plugin, title }, at) => (
          <span key={plugin}>
            {at > 0 && ", "}
            <Link to={["entities", "plugins", plugin]}>{title}</Link>
          </span>
        ))}
        {others > 0 && ` and ${others.toLocaleString("en")} more`}.
      </p>
      <div class="toolbar">
        <FilterText label="Filter by name or document" value={filter} onChange={setFilter} />
        <FilterSelect
          label="Service"
          value={service}
          choices={[["", "all services"], ...services.map((name) => [name, name] as const)]}
          onChange={setService}
        />
      </div>
      <SortableTable
        caption="Operations"
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        sorted={{ column: 4, descending: true }}
        empty="No operation in the last ten seconds."
      />
      <p class="hint">
        Rates of {memory.nodesText} in the last ten seconds. Latencies are measured to the end of the response. An
        operation has failed if the status is 400 or above, or the response has errors. Operations with one name and
        different documents are listed separately: the document is shown by the first digits of its SHA-256, which
        metrics have as <code>hash</code>, log records as <code>sha256</code> and traces as{" "}
        <code>graphql.document.hash</code>.
      </p>
    </>
  );
}

const nameOf = ({ id, name }: TrafficEntry): string => name ?? id;
/** Of an operation; also of a node that does not report it yet. */
const hashOf = ({ hash = "" }: TrafficEntry): string => hash;
const serviceOf = ({ service }: TrafficEntry): string => service?.name ?? service?.id ?? "no service";

const columns: readonly TableColumn<TrafficEntry>[] = [
  { title: "Operation", cell: (entry) => <span class="mono">{nameOf(entry)}</span>, sortBy: nameOf },
  { title: "Document", cell: (entry) => <span class="mono">{hashOf(entry)}</span>, sortBy: hashOf },
  { title: "Type", cell: ({ type }) => type, sortBy: ({ type = "" }) => type },
  {
    title: "Service",
    cell: (entry) =>
      entry.service ? (
        <Link to={["entities", "services", entry.service.id]}>{serviceOf(entry)}</Link>
      ) : (
        serviceOf(entry)
      ),
    sortBy: serviceOf,
  },
  rateColumn,
  {
    title: "Failed",
    cell: ({ failed = 0, requests }) => (
      <span class={failed > 0 ? "state bad" : undefined}>{formatShare(failed / requests)}</span>
    ),
    sortBy: ({ failed = 0 }) => failed,
    isNumeric: true,
  },
  ...latencyColumns,
];
