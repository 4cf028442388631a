/** One entity: its form, the entities below it, and its removal. */
import { useState } from "preact/hooks";
import { encodedPath, requestJson } from "../../api/client.ts";
import { type ChildView, type CollectionView, entityTitle, namingOf } from "../../api/collections.ts";
import type { EntityRecord } from "../../api/load-entities.ts";
import { useLoaded } from "../../api/use-loaded.ts";
import { announceToReader } from "../../app/announcer.tsx";
import { goTo, Link } from "../../app/navigation.tsx";
import { useConsoleSession } from "../../app/session.ts";
import type { FormDraft } from "../../forms/draft-changes.ts";
import { initialRecord, kindMemberOf, loadFields, loadKinds, type NamedField } from "../../forms/schema-fields.ts";
import { CopyField } from "../../parts/copy-field.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PlannedButton } from "../../plans/planned-button.tsx";
import type { WriteResult } from "../../plans/write.ts";
import { EntitiesBelow } from "./entities-below.tsx";
import { EntityForm } from "./entity-form.tsx";
import { CertificatesOfService, ShownCertificate, titleOfAuthority } from "./shown-certificate.tsx";
import { WrittenIn } from "./written-in.tsx";

interface EntityPageProps {
  readonly view: CollectionView;
  readonly id: string;
  /** Set for an entity that exists only below the entity `id`. */
  readonly nested: ChildView | undefined;
  readonly child: string | undefined;
  readonly query: URLSearchParams;
}

/** The result of the last save, which the page of the saved entity shows. */
let savedMessage: { readonly text: string; readonly isServed: boolean } | undefined;

export function EntityDetails({ view, id, nested, child, query }: EntityPageProps) {
  const collection = nested?.collection ?? view.collection;
  const listPath = nested ? `${view.path}/${encodedPath(id, nested.segment)}` : view.path;
  const own = nested ? (child ?? "new") : id;
  const { singular } = namingOf(collection);
  const back = nested ? ["entities", view.path, id] : ["entities", view.path];
  const [message] = useState(() => savedMessage);
  savedMessage = undefined;

  return (
    <>
      <p class="back">
        <Link to={back}>{nested ? `Back to the ${view.singular}` : view.title}</Link>
      </p>
      {own === "new" ? (
        <NewEntity
          {...{ collection, listPath, singular, nested, query }}
          onDone={(made) => goTo([...back, ...(nested ? [] : [made])])}
        />
      ) : (
        <StoredEntity
          {...{ view, collection, singular, nested, back }}
          path={`${listPath}/${encodedPath(own)}`}
          message={message}
        />
      )}
    </>
  );
}

interface NewEntityProps {
  readonly collection: string;
  readonly listPath: string;
  readonly singular: string;
  readonly nested: ChildView | undefined;
  /** References that the address of the page gives: `?service=ID`, and the name of a plugin. */
  readonly query: URLSearchParams;
  readonly onDone: (id: string) => void;
}

function NewEntity({ collection, listPath, singular, nested, query, onDone }: NewEntityProps) {
  const { canWrite, readOnlyReason } = useConsoleSession();
  const kindMember = kindMemberOf(collection);
  const [kind, setKind] = useState(query.get(kindMember ?? "") ?? "");
  const [made, setMade] = useState<{ readonly result: WriteResult; readonly sent: FormDraft }>();
  const isChosen = kindMember === undefined || kind !== "";
  const fields = useLoaded(async (signal) => (isChosen ? loadFields(collection, kindMember && kind, signal) : []), {
    key: `${collection} ${kind}`,
  });
  const hidden = new Set([nested?.member, kindMember]);
  const shown = fields.data?.filter((one) => !hidden.has(one.name)) ?? [];
  const before = initialRecord(shown);
  const given = Object.fromEntries(
    shown.flatMap((one) => {
      const id = query.get(one.name);
      return id !== null && one.field.type === "foreign" ? [[one.name, { id }]] : [];
    }),
  );

  function finish(result: WriteResult): void {
    savedMessage = { text: `Created. ${result.served}`, isServed: result.isServed };
    onDone(result.entity?.id ?? "");
  }

  return (
    <>
      <h1>New {singular}</h1>
      {!canWrite && <Notice kind="info">{readOnlyReason}</Notice>}
      {kindMember && <KindChoice collection={collection} value={kind} onChoose={setKind} />}
      {fields.failure !== undefined && <Notice kind="error">{fields.failure}</Notice>}
      {fields.data && isChosen && (
        <EntityForm
          key={kind}
          fields={shown}
          before={before}
          prefilled={{ ...before, ...given }}
          always={kindMember ? { [kindMember]: kind } : {}}
          write={{ method: "POST", path: listPath }}
          disabled={!canWrite}
          main={mainFields(collection)}
          onSaved={(result, sent) => {
            const isSecret = secretsIn(shown, result.entity, sent).length > 0;
            if (isSecret) setMade({ result, sent });
            else finish(result);
          }}
        />
      )}
      {made && (
        <NewSecrets
          secrets={secretsIn(shown, made.result.entity, made.sent)}
          singular={singular}
          onClose={() => finish(made.result)}
        />
      )}
    </>
  );
}

/** The fields that the form shows at once: those of lists, `config`, and, for entities without a name, the tags. */
function mainFields(collection: string): readonly string[] {
  const { names, columns } = namingOf(collection);
  return [...names, ...columns, "config", ...(names.length === 0 ? ["tags"] : [])];
}

/** Secrets that the admin API generated: they are shown now, and never again. */
const secretsIn = (
  fields: readonly NamedField[],
  entity: EntityRecord | undefined,
  sent: FormDraft,
): readonly (readonly [string, string])[] =>
  fields.flatMap(({ name, field }) => {
    const value = entity?.[name];
    return field.encrypted && field.auto && sent[name] === undefined && typeof value === "string"
      ? [[name, value] as const]
      : [];
  });

interface KindChoiceProps {
  readonly collection: string;
  readonly value: string;
  readonly onChoose: (name: string) => void;
}

/** Chooses the plugin, or the kind of vault, whose schema the form has. */
function KindChoice({ collection, value, onChoose }: KindChoiceProps) {
  const { data = [], isLoading, failure } = useLoaded((signal) => loadKinds(collection, signal), { key: collection });
  if (failure !== undefined) return <Notice kind="error">{failure}</Notice>;
  if (!isLoading && data.length === 0)
    return (
      <Notice kind="info">No plugin of this admin listener declares credentials of its own (SLUICE_PLUGINS).</Notice>
    );
  return (
    <div class="field kind">
      <label for="kind">{collection === "vaults" ? "Kind of vault" : "Plugin"}</label>
      <select id="kind" value={value} onChange={({ currentTarget }) => onChoose(currentTarget.value)}>
        <option value="">Choose…</option>
        {[...new Set([...data, ...(value === "" ? [] : [value])])].map((one) => (
          <option key={one}>{one}</option>
        ))}
      </select>
    </div>
  );
}

interface StoredEntityProps {
  readonly view: CollectionView;
  readonly collection: string;
  readonly singular: string;
  readonly nested: ChildView | undefined;
  readonly path: string;
  readonly back: readonly string[];
  readonly message: { readonly text: string; readonly isServed: boolean } | undefined;
}

function StoredEntity({ view, collection, singular, nested, path, back, message }: StoredEntityProps) {
  const { canWrite, readOnlyReason } = useConsoleSession();
  const [saved, setSaved] = useState(message);
  const kindMember = kindMemberOf(collection);
  const stored = useLoaded(
    async (signal) => {
      const { body: entity, headers } = await requestJson<EntityRecord>(path, { signal });
      const kind = kindMember && String(entity[kindMember]);
      const title = collection === "ca_certificates" ? await titleOfAuthority(entity.id, signal) : undefined;
      return { entity, kind, title, tag: headers.get("ETag"), fields: await loadFields(collection, kind, signal) };
    },
    { key: path },
  );
  const { data, failure } = stored;
  const title = data ? (data.title ?? entityTitle(collection, data.entity)) : "";
  const hidden = new Set([nested?.member, kindMember]);
  return (
    <>
      <h1>
        <span class="kicker">{singular}</span> {title}
      </h1>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {saved && <Notice kind={saved.isServed ? "good" : "warning"}>{saved.text}</Notice>}
      {!canWrite && <Notice kind="info">{readOnlyReason}</Notice>}
      {data && (
        <>
          <p class="hint">
            {data.kind !== undefined && (
              <>
                {collection === "vaults" ? "kind" : "plugin"} <strong>{data.kind}</strong>{" "}
              </>
            )}
            id <code>{data.entity.id}</code>
          </p>
          <WrittenIn collection={collection} id={data.entity.id} version={data.tag ?? ""} />
          {(collection === "certificates" || collection === "ca_certificates") && (
            <ShownCertificate id={data.entity.id} version={data.tag ?? ""} />
          )}
          <EntityForm
            key={data.tag ?? ""}
            fields={data.fields.filter(({ name }) => !hidden.has(name))}
            before={data.entity}
            write={{ method: "PATCH", path, tag: data.tag }}
            disabled={!canWrite}
            main={mainFields(collection)}
            onSaved={(result) => {
              setSaved({ text: `Saved. ${result.served}`, isServed: result.isServed });
              stored.reload();
              scrollTo(0, 0);
            }}
          />
          {collection === "services" && <CertificatesOfService service={data.entity} />}
          {!nested &&
            view.children?.map((one) => (
              <EntitiesBelow key={one.segment} view={view} child={one} entity={data.entity} />
            ))}
          {canWrite && (
            <section class="danger" aria-labelledby="delete">
              <h2 id="delete">Delete</h2>
              <PlannedButton
                label={`Delete the ${singular}…`}
                write={{ method: "DELETE", path, tag: data.tag }}
                title={`Delete ${title}?`}
                confirm="Delete"
                cancel="Keep it"
                onDone={() => {
                  announceToReader(`${title} is deleted.`);
                  goTo(back);
                }}
              />
            </section>
          )}
        </>
      )}
    </>
  );
}

interface NewSecretsProps {
  readonly secrets: readonly (readonly [member: string, value: string])[];
  readonly singular: string;
  readonly onClose: () => void;
}

function NewSecrets({ secrets, singular, onClose }: NewSecretsProps) {
  return (
    <Dialog title={`The ${singular} has been created`} onClose={onClose}>
      <p>Copy it now: the console does not show it again.</p>
      {secrets.map(([member, value]) => (
        <CopyField key={member} id={`secret-${member}`} label={member} value={value} />
      ))}
      <p class="actions">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </p>
    </Dialog>
  );
}
