/** The heading of a table that is not sorted. */

interface TableHeadProps {
  readonly titles: readonly string[];
}

export const TableHead = ({ titles }: TableHeadProps) => (
  <thead>
    <tr>
      {titles.map((title) => (
        <th key={title} scope="col">
          {title}
        </th>
      ))}
    </tr>
  </thead>
);
