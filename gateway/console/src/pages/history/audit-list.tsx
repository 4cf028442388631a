/** The changes of all revisions as one list, which can be filtered. */
import { useMemo, useRef, useState } from "preact/hooks";
import { namingOf } from "../../api/collections.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { FilterSelect, FilterText } from "../../parts/filters.tsx";
import { countWithNoun, formatTime } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { changeTones } from "../../plans/change-plan.ts";
import {
  type AuditEntry,
  auditEntries,
  type RevisionDetails,
  type RevisionRecord,
  readRevision,
} from "./revision-records.ts";

/** Number of revisions whose changes are read together, with one request for each revision. */
const REVISIONS_AT_ONCE = 25;

const NONE: readonly RevisionDetails[] = [];

/** @param props.revisions Newest first. */
export function AuditList({ revisions }: { readonly revisions: readonly RevisionRecord[] }) {
  const [author, setAuthor] = useState("");
  const [collection, setCollection] = useState("");
  const [change, setChange] = useState<AuditEntry["change"] | "">("");
  const [text, setText] = useState("");
  const [count, setCount] = useState(REVISIONS_AT_ONCE);
  const read = useRef(new Map<number, RevisionDetails>());

  const authors = useMemo(() => [...new Set(revisions.map((one) => one.author))].sort(), [revisions]);
  const wanted = revisions.filter((one) => author === "" || one.author === author);
  const shown = wanted.slice(0, count);
  const { data, failure, isLoading } = useLoaded(
    (signal) =>
      Promise.all(
        shown.map(async ({ number }) => {
          const details = read.current.get(number) ?? (await readRevision(number, signal));
          read.current.set(number, details);
          return details;
        }),
      ),
    { key: `${author} ${count}` },
  );
  const entries = useMemo(() => auditEntries(data ?? NONE), [data]);
  const collections = useMemo(() => [...new Set(entries.map((one) => one.collection))].filter(Boolean), [entries]);
  const rows = useMemo(() => {
    const searched = text.trim().toLowerCase();
    return entries.filter(
      (one) =>
        (collection === "" || one.collection === collection) &&
        (change === "" || one.change === change) &&
        `${one.entity}\n${one.id}\n${one.members}`.toLowerCase().includes(searched),
    );
  }, [entries, collection, change, text]);

  return (
    <>
      <div class="toolbar">
        <FilterText label="Filter by name, id or member" value={text} onChange={setText} />
        <FilterSelect
          label="Author"
          value={author}
          choices={[["", "all authors"], ...authors.map((one) => [one, one] as const)]}
          onChange={(chosen) => {
            setAuthor(chosen);
            setCount(REVISIONS_AT_ONCE);
          }}
        />
        <FilterSelect
          label="Kind of entity"
          value={collection}
          choices={[["", "all entities"], ...collections.map((one) => [one, namingOf(one).singular] as const)]}
          onChange={setCollection}
        />
        <FilterSelect
          label="Kind of change"
          value={change}
          choices={[
            ["", "all changes"],
            ...(["created", "changed", "deleted"] as const).map((one) => [one, one] as const),
          ]}
          onChange={setChange}
        />
      </div>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      <p class="hint" role="status">
        {isLoading
          ? "Loading…"
          : `${countWithNoun(rows.length, "change")} in ${countWithNoun(shown.length, "revision")}`}
      </p>
      <SortableTable
        caption="Changes"
        columns={columns}
        rows={rows}
        keyOf={({ key }) => key}
        empty={isLoading ? "Loading…" : "No change matches the filters."}
      />
      {shown.length < wanted.length && (
        <p class="actions">
          <button type="button" onClick={() => setCount(count + REVISIONS_AT_ONCE)}>
            Show earlier changes
          </button>
          <span class="hint">{countWithNoun(wanted.length - shown.length, "earlier revision")}</span>
        </p>
      )}
    </>
  );
}

const columns: readonly TableColumn<AuditEntry>[] = [
  {
    title: "Time (UTC)",
    cell: ({ revision }) => <time>{formatTime(Date.parse(revision.time))}</time>,
    sortBy: ({ revision }) => revision.number,
  },
  { title: "Author", cell: ({ revision }) => revision.author, sortBy: ({ revision }) => revision.author },
  {
    title: "Change",
    cell: ({ change }) => <span class={`state ${change === "not kept" ? "" : changeTones[change]}`}>{change}</span>,
    sortBy: ({ change }) => change,
  },
  {
    title: "Entity",
    cell: ({ entity, at }) => (at ? <Link to={at}>{entity}</Link> : entity),
    sortBy: ({ entity }) => entity,
  },
  { title: "Members", cell: ({ members }) => members },
  {
    title: "Revision",
    cell: ({ revision: { number } }) => <Link to={["history", String(number)]}>{number}</Link>,
    isNumeric: true,
  },
];
