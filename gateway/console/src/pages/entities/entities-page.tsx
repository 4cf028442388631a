/** The entities of one collection, with search, tags and sorting. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { type CollectionView, collectionViews, entityTitle } from "../../api/collections.ts";
import { type EntityRecord, loadEntities, MAX_ENTITIES } from "../../api/load-entities.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { goTo, Link } from "../../app/navigation.tsx";
import { useConsoleSession } from "../../app/session.ts";
import { FilterSelect, FilterText } from "../../parts/filters.tsx";
import { countWithNoun } from "../../parts/format.ts";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { columnTitle, memberText, referencedPage, useNames } from "./entity-names.ts";
import { type LastUse, useLastUses } from "./last-uses.ts";

interface EntitiesPageProps {
  readonly view: CollectionView;
  readonly query: URLSearchParams;
}

export function EntitiesPage({ view, query }: EntitiesPageProps) {
  const listing = <EntityListing key={view.path} view={view} query={query} />;
  return (
    <>
      <h1>{view.title}</h1>
      {collectionViews.includes(view) ? (
        <div class="with-side">
          <nav class="side" aria-label="Collections">
            <ul>
              {collectionViews.map(({ path, title }) => (
                <li key={path}>
                  <Link to={["entities", path]} current={path === view.path}>
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </nav>
          <div>{listing}</div>
        </div>
      ) : (
        listing
      )}
    </>
  );
}

const NONE: readonly EntityRecord[] = [];

function EntityListing({ view, query }: EntitiesPageProps) {
  const { canWrite } = useConsoleSession();
  const [count, setCount] = useState(0);
  const { data, failure, isLoading } = useLoaded((signal) => loadEntities(view.path, { signal, report: setCount }), {
    key: view.path,
  });
  const [search, setSearch] = useState(query.get("search") ?? "");
  const tag = query.get("tag") ?? "";
  const entities = data?.entities ?? NONE;
  const names = useNames(entities, view.columns);
  const lastUse = useLastUses(view.path);
  const columns = useMemo(() => columnsOf(view, { names, lastUse }), [view, names, lastUse === undefined]);
  const tags = useMemo(() => [...new Set(entities.flatMap(tagsOf))].sort(), [entities]);
  const texts = useMemo(
    () => new Map(entities.map((entity) => [entity.id, searchText(view, entity, names)])),
    [entities, view, names],
  );
  const rows = useMemo(() => {
    const wanted = search.trim().toLowerCase();
    const isWanted = (entity: EntityRecord) =>
      (tag === "" || tagsOf(entity).includes(tag)) && (wanted === "" || texts.get(entity.id)?.includes(wanted));
    return entities.filter(isWanted);
  }, [entities, search, tag, texts]);

  // The address has the search, so that it can be shared and survives a reload.
  useEffect(() => {
    const kept = { ...(search !== "" && { search }), ...(tag !== "" && { tag }) };
    const text = new URLSearchParams(kept).toString();
    history.replaceState(null, "", `#/entities/${view.path}${text === "" ? "" : `?${text}`}`);
  }, [search, tag, view.path]);

  return (
    <>
      <div class="toolbar">
        <FilterText label={`Search ${view.title}`} placeholder="Search" value={search} onChange={setSearch} />
        {tags.length > 0 && (
          <FilterSelect
            label="Tag"
            value={tag}
            choices={[["", "all tags"], ...tags.map((one) => [one, one] as const)]}
            onChange={(chosen) =>
              goTo(["entities", view.path], {
                ...(search !== "" && { search }),
                ...(chosen !== "" && { tag: chosen }),
              })
            }
          />
        )}
        {canWrite && (
          <Link to={["entities", view.path, "new"]} class="button primary">
            New {view.singular}
          </Link>
        )}
      </div>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {data?.isTruncated && (
        <Notice kind="warning">The console shows the first {MAX_ENTITIES.toLocaleString("en")} only.</Notice>
      )}
      <p class="hint" role="status">
        {isLoading
          ? `Loading… ${count > 0 ? count.toLocaleString("en") : ""}`
          : rows.length === entities.length
            ? countWithNoun(rows.length, view.singular)
            : `${rows.length.toLocaleString("en")} of ${countWithNoun(entities.length, view.singular)}`}
      </p>
      <SortableTable
        caption={view.title}
        columns={columns}
        rows={rows}
        keyOf={({ id }) => id}
        sorted={{ column: 0, descending: false }}
        empty={
          isLoading
            ? "Loading…"
            : entities.length === 0
              ? `There is no ${view.singular} yet.`
              : "Nothing matches the search."
        }
      />
    </>
  );
}

type EntityNames = ReadonlyMap<string, string>;

interface ColumnOptions {
  readonly names: EntityNames;
  readonly lastUse: ((id: string) => LastUse) | undefined;
}

function columnsOf(view: CollectionView, { names, lastUse }: ColumnOptions): readonly TableColumn<EntityRecord>[] {
  return [
    {
      title: "Name",
      cell: (entity) => <Link to={["entities", view.path, entity.id]}>{entityTitle(view.collection, entity)}</Link>,
      sortBy: (entity) => entityTitle(view.collection, entity),
    },
    ...view.columns.map(
      (member): TableColumn<EntityRecord> => ({
        title: columnTitle(member),
        cell: (entity) => {
          const to = referencedPage(member, entity);
          const text = memberText(member, entity, names);
          return to ? <Link to={to}>{text}</Link> : text;
        },
        sortBy: (entity) => (typeof entity[member] === "number" ? entity[member] : memberText(member, entity, names)),
        isNumeric: member === "port" || member === "regex_priority",
      }),
    ),
    ...(lastUse
      ? [
          {
            title: "last used",
            cell: ({ id }: EntityRecord) => lastUse(id).text,
            sortBy: ({ id }: EntityRecord) => lastUse(id).at,
          },
        ]
      : []),
    {
      title: "tags",
      cell: (entity) =>
        tagsOf(entity).map((one) => (
          <span key={one} class="chip">
            {one}
          </span>
        )),
    },
  ];
}

const tagsOf = ({ tags }: EntityRecord): readonly string[] => (Array.isArray(tags) ? tags.map(String) : []);

/** The texts that a search looks into: those of the table, and the id. Secrets are not among them. */
const searchText = (view: CollectionView, entity: EntityRecord, names: EntityNames): string =>
  [
    entity.id,
    entityTitle(view.collection, entity),
    ...view.columns.map((member) => memberText(member, entity, names)),
    ...tagsOf(entity),
  ]
    .join("\n")
    .toLowerCase();
