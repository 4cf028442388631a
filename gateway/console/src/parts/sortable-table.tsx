/** A table with a heading in every column, by which its rows can be sorted. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { ScrollArea } from "./scroll-area.tsx";

export interface TableColumn<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Absent: the table cannot be sorted by this column. */
  readonly sortBy?: (row: Row) => string | number;
  readonly isNumeric?: boolean;
}

interface SortableTableProps<Row> {
  readonly caption: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** The column that rows are sorted by at first. Absent: they are in the order of `rows`. */
  readonly sorted?: { readonly column: number; readonly descending: boolean };
  readonly empty: string;
}

const PAGE = 100;

export function SortableTable<Row>({ caption, columns, rows, keyOf, sorted, empty }: SortableTableProps<Row>) {
  const [order, setOrder] = useState(sorted);
  const [page, setPage] = useState(0);
  const ordered = useMemo(() => {
    const by = order && columns[order.column]?.sortBy;
    if (!order || !by) return rows;
    const sign = order.descending ? -1 : 1;
    // The values are computed once per row, not once per comparison.
    return rows
      .map((row) => ({ row, value: by(row) }))
      .sort((one, other) => sign * compareValues(one.value, other.value))
      .map(({ row }) => row);
  }, [rows, order, columns]);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE));
  const at = Math.min(page, pages - 1);
  const shown = ordered.slice(at * PAGE, (at + 1) * PAGE);

  return (
    <>
      <ScrollArea class="table-scroll" label={`Table: ${caption}`}>
        <table>
          <caption class="sr-only">{caption}</caption>
          <thead>
            <tr>
              {columns.map(({ title, sortBy, isNumeric }, index) => (
                <th
                  key={title}
                  scope="col"
                  class={isNumeric ? "numeric" : undefined}
                  aria-sort={order?.column === index ? (order.descending ? "descending" : "ascending") : undefined}
                >
                  {sortBy ? (
                    <button
                      type="button"
                      class="sort"
                      onClick={() =>
                        setOrder({
                          column: index,
                          descending: order?.column === index ? !order.descending : isNumeric === true,
                        })
                      }
                    >
                      {title}
                      <span aria-hidden="true">{order?.column === index ? (order.descending ? " ↓" : " ↑") : ""}</span>
                    </button>
                  ) : (
                    title
                  )}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <tr key={keyOf(row)}>
                {columns.map(({ title, cell, isNumeric }, index) =>
                  index === 0 ? (
                    <th key={title} scope="row">
                      {cell(row)}
                    </th>
                  ) : (
                    <td key={title} class={isNumeric ? "numeric" : undefined}>
                      {cell(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
        {rows.length === 0 && <p class="empty">{empty}</p>}
      </ScrollArea>
      {pages > 1 && (
        <nav class="paging" aria-label={`Pages of ${caption}`}>
          <button type="button" disabled={at === 0} onClick={() => setPage(at - 1)}>
            Previous
          </button>
          <span>
            {at * PAGE + 1} to {Math.min(rows.length, (at + 1) * PAGE)} of {rows.length}
          </span>
          <button type="button" disabled={at === pages - 1} onClick={() => setPage(at + 1)}>
            Next
          </button>
        </nav>
      )}
    </>
  );
}

const collator = new Intl.Collator("en", { numeric: true });

function compareValues(one: string | number, other: string | number): number {
  if (typeof one === "number" && typeof other === "number") return one - other;
  return collator.compare(String(one), String(other));
}
