/** The nodes, the problems of the installation, and the number of served entities. */
import { read, requestAdmin } from "../../api/client.ts";
import { namingOf, viewOfCollection } from "../../api/collections.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { useConsoleSession } from "../../app/session.ts";
import { readFleetGauges } from "../../metrics/node-gauges.ts";
import { useTraffic } from "../../metrics/use-traffic.ts";
import { formatBytes, formatDuration, formatRate, formatShare } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { type NodeRow, nodeRows, type StatusBody, type SystemProblem, systemProblems } from "./fleet-status.ts";
import { loadStoreProblems } from "./store-problems.ts";
import { loadTargetProblems } from "./unhealthy-targets.ts";

const INTERVAL = 3000;

/** The interval is long, because the plugin prometheus can make the response tens of megabytes long. */
const GAUGES_INTERVAL = 15_000;

const STORED_INTERVAL = 5000;
const TARGETS_INTERVAL = 30_000;

async function loadGauges(signal: AbortSignal) {
  const { body } = await requestAdmin("metrics", { signal });
  return body ? readFleetGauges(body) : undefined;
}

export function OverviewPage() {
  const session = useConsoleSession();
  const status = useLoaded((signal) => read<StatusBody>("status", signal), { key: "status", every: INTERVAL });
  const { memory, failure } = useTraffic("services");
  const { data: gauges } = useLoaded(loadGauges, { key: "metrics", every: GAUGES_INTERVAL });
  const stored = useLoaded((signal) => loadStoreProblems(signal), {
    key: "problems",
    every: STORED_INTERVAL,
  });
  const targets = useLoaded(loadTargetProblems, { key: "targets", every: TARGETS_INTERVAL });
  const rows = status.data ? nodeRows(status.data, gauges) : [];
  const problems = status.data
    ? [...(stored.data ?? []), ...systemProblems(status.data, rows, gauges), ...(targets.data ?? [])]
    : [];
  const point = memory.points.at(-1);
  const counts = [...(gauges?.entities ?? [])].filter(([, count]) => count > 0);
  const serving = rows.filter(({ state }) => state === "serving").length;

  return (
    <>
      <h1>Overview</h1>
      {status.failure !== undefined && <Notice kind="error">{status.failure}</Notice>}
      {failure !== undefined && status.failure === undefined && <Notice kind="error">{failure}</Notice>}
      <dl class="tiles">
        <Tile title="Nodes" value={status.data ? `${serving} of ${rows.length}` : "…"} note="up to date" />
        <Tile title="Requests" value={point ? `${formatRate(point.requests)}/s` : "–"} note={memory.nodesText} />
        <Tile
          title="Server errors"
          value={point && point.requests > 0 ? formatShare(point.server_errors / point.requests) : "–"}
          note="of the requests"
        />
        <Tile title="Latency" value={formatDuration(point?.latencies.p95 ?? null)} note="95 % are faster" />
        <Tile title="Store" value={session.store} note={`Sluice ${session.version}`} />
      </dl>

      <section aria-labelledby="problems">
        <h2 id="problems">Problems</h2>
        {stored.failure !== undefined && status.failure === undefined && (
          <Notice kind="error">The problems of the store cannot be read: {stored.failure}</Notice>
        )}
        {status.data && stored.data && problems.length === 0 ? (
          <Notice kind="good">No problem is known.</Notice>
        ) : (
          <ul class="problems">
            {problems.map((problem) => (
              <ProblemItem key={`${problem.title} ${problem.detail}`} {...problem} />
            ))}
          </ul>
        )}
      </section>

      <section aria-labelledby="nodes">
        <h2 id="nodes">Nodes</h2>
        <SortableTable
          caption="Nodes"
          columns={nodeColumns}
          rows={rows}
          keyOf={({ key }) => key}
          empty={status.data ? "No node has reported to this store." : "Loading…"}
        />
      </section>

      {counts.length > 0 && (
        <section aria-labelledby="counts">
          <h2 id="counts">Served entities</h2>
          <ul class="counts">
            {counts.map(([kind, count]) => (
              <li key={kind}>
                <strong>{count.toLocaleString("en")}</strong> {entityNoun(kind, count)}
              </li>
            ))}
          </ul>
        </section>
      )}
      <p class="next">
        Why does a request get a certain response? <Link to={["explain"]}>Explain it.</Link>
      </p>
    </>
  );
}

/** The word for entities of a collection: `API keys`, `1 CA certificate`. */
function entityNoun(collection: string, count: number): string {
  if (count === 1) return namingOf(collection).singular;
  const view = viewOfCollection(collection);
  if (!view) return collection.replaceAll("_", " ");
  return /^[A-Z][a-z]/.test(view.title) ? view.title.toLowerCase() : view.title;
}

const Tile = ({ title, value, note }: { readonly title: string; readonly value: string; readonly note: string }) => (
  <div class="tile">
    <dt>{title}</dt>
    <dd>
      <span class="figure">{value}</span>
      <span class="hint">{note}</span>
    </dd>
  </div>
);

const ProblemItem = ({ severity, title, detail, cure, at }: SystemProblem) => (
  <li class={`problem ${severity}`}>
    <h3>{title}</h3>
    <p>{detail}</p>
    <p class="cure">
      {cure} {at && <Link to={at}>Open it</Link>}
    </p>
  </li>
);

const nodeColumns: readonly TableColumn<NodeRow>[] = [
  { title: "Address", cell: ({ address }) => address, sortBy: ({ address }) => address },
  {
    title: "State",
    cell: ({ state }) => (
      <span class={`state ${state === "serving" ? "good" : state === "late" ? "warning" : "bad"}`}>{state}</span>
    ),
    sortBy: ({ state }) => state,
  },
  {
    title: "Revision",
    cell: ({ revision }) => revision ?? "–",
    sortBy: ({ revision }) => revision ?? -1,
    isNumeric: true,
  },
  { title: "Version", cell: ({ version }) => version, sortBy: ({ version }) => version },
  {
    title: "Memory",
    cell: ({ memory }) => (memory === null ? "–" : formatBytes(memory)),
    sortBy: ({ memory }) => memory ?? -1,
    isNumeric: true,
  },
  {
    title: "Event loop delay",
    cell: ({ lag }) => formatDuration(lag === null ? null : lag * 1000),
    sortBy: ({ lag }) => lag ?? -1,
    isNumeric: true,
  },
];
