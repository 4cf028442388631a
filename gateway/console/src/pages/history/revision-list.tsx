/** The revisions, and the choice of two that are compared. */
import { useMemo, useState } from "preact/hooks";
import { goTo, Link } from "../../app/navigation.tsx";
import { countWithNoun, formatTime } from "../../parts/format.ts";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { countsText, type RevisionRecord } from "./revision-records.ts";

export function RevisionList({ revisions }: { readonly revisions: readonly RevisionRecord[] }) {
  const [from, setFrom] = useState<number>();
  const [to, setTo] = useState<number>();
  const columns = useMemo(
    (): readonly TableColumn<RevisionRecord>[] => [
      {
        title: "Revision",
        cell: ({ number }) => <Link to={["history", String(number)]}>{number}</Link>,
        sortBy: ({ number }) => number,
      },
      {
        title: "Time (UTC)",
        cell: ({ time }) => <time>{formatTime(Date.parse(time))}</time>,
        sortBy: ({ time }) => Date.parse(time),
      },
      { title: "Author", cell: ({ author }) => author, sortBy: ({ author }) => author },
      { title: "Changes", cell: countsText },
      choiceColumn("From", { chosen: from, onChoose: setFrom }),
      choiceColumn("To", { chosen: to, onChoose: setTo }),
    ],
    [from, to],
  );

  function compare(event: Event): void {
    event.preventDefault();
    if (from !== undefined && to !== undefined) goTo(["history", String(to)], { since: String(from) });
  }

  return (
    <form onSubmit={compare}>
      <div class="toolbar">
        <p class="hint grow" role="status">
          {countWithNoun(revisions.length, "revision")}. To compare two, choose them in the columns From and To.
        </p>
        <button type="submit" disabled={from === undefined || to === undefined || from === to}>
          Compare
        </button>
      </div>
      <SortableTable
        caption="Revisions"
        columns={columns}
        rows={revisions}
        keyOf={({ number }) => String(number)}
        empty="There is no revision yet."
      />
    </form>
  );
}

interface ChoiceColumnOptions {
  readonly chosen: number | undefined;
  readonly onChoose: (number: number) => void;
}

const choiceColumn = (title: string, { chosen, onChoose }: ChoiceColumnOptions): TableColumn<RevisionRecord> => ({
  title,
  cell: ({ number }) => (
    <input
      type="radio"
      name={title}
      aria-label={`${title} revision ${number}`}
      checked={chosen === number}
      onChange={() => onChoose(number)}
    />
  ),
});
