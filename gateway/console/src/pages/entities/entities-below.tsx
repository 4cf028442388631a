/** The entities below one entity: the routes of a service, the credentials of a consumer. */
import { encodedPath, read } from "../../api/client.ts";
import { type ChildView, type CollectionView, collectionViews, entityTitle, namingOf } from "../../api/collections.ts";
import { type EntityRecord, loadEntities } from "../../api/load-entities.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { Link } from "../../app/navigation.tsx";
import { useConsoleSession } from "../../app/session.ts";
import { Notice } from "../../parts/notice.tsx";
import { SortableTable, type TableColumn } from "../../parts/sortable-table.tsx";
import { columnTitle, memberText } from "./entity-names.ts";
import { type OriginBody, unservedChildren } from "./origin-body.ts";

interface ChildListProps {
  readonly view: CollectionView;
  readonly child: ChildView;
  readonly entity: EntityRecord;
}

interface UnservedOptions extends Pick<ChildListProps, "view" | "entity"> {
  readonly segment: string;
}

/** Why credentials of the consumer's custom resource are not served, one message for each. */
function useUnserved({ view, segment, entity }: UnservedOptions): readonly string[] {
  const { data } = useLoaded(
    async (signal) =>
      view.collection === "consumers"
        ? read<OriginBody>(`origins/${encodedPath("consumers", entity.id)}`, signal)
        : undefined,
    { key: `${view.collection} ${entity.id}` },
  );
  return data?.in === "resource" ? unservedChildren(data.conditions, segment) : [];
}

const NO_NAMES: ReadonlyMap<string, string> = new Map();

export function EntitiesBelow({ view, child, entity }: ChildListProps) {
  const { canWrite } = useConsoleSession();
  const { segment, collection, title, member } = child;
  const path = `${view.path}/${encodedPath(entity.id, segment)}`;
  // The list below /health has the same targets, with their health. If it cannot be read, the targets have no health.
  const { data, failure } = useLoaded(
    async (signal) =>
      collection === "targets"
        ? loadEntities(`${view.path}/${encodedPath(entity.id)}/health`, { signal }).catch(() =>
            loadEntities(path, { signal }),
          )
        : loadEntities(path, { signal }),
    { key: path },
  );
  const unserved = useUnserved({ view, segment, entity });
  const page = collectionViews.find((one) => one.collection === collection);
  const addressOf = (id: string) =>
    page ? ["entities", page.path, id] : ["entities", view.path, entity.id, segment, id];
  const { singular, columns: members } = namingOf(collection);
  const shown = [...members, ...(collection === "targets" ? ["health"] : [])].filter((name) => name !== member);
  const columns: readonly TableColumn<EntityRecord>[] = [
    {
      title: "Name",
      cell: (one) => <Link to={addressOf(one.id)}>{entityTitle(collection, one)}</Link>,
      sortBy: (one) => entityTitle(collection, one),
    },
    ...shown.map(
      (name): TableColumn<EntityRecord> => ({
        title: columnTitle(name),
        cell: (one) => memberText(name, one, NO_NAMES),
        sortBy: (one) => memberText(name, one, NO_NAMES),
      }),
    ),
  ];
  return (
    <section class="children" aria-labelledby={`children-${segment}`}>
      <h2 id={`children-${segment}`}>{title}</h2>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {data && data.entities.length > 0 && (
        <SortableTable caption={title} columns={columns} rows={data.entities} keyOf={({ id }) => id} empty="" />
      )}
      {unserved.map((message) => (
        <Notice key={message} kind="error">
          Not served: {message}
        </Notice>
      ))}
      {data?.entities.length === 0 && unserved.length === 0 && <p class="hint">None.</p>}
      {canWrite && (
        <Link to={addressOf("new")} query={page ? { [member]: entity.id } : {}} class="button">
          New {singular}
        </Link>
      )}
    </section>
  );
}
