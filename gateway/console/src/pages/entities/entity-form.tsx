/** The form of one entity: edit, plan, save. Every field comes from the schema. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, failureText } from "../../api/client.ts";
import { announceToReader } from "../../app/announcer.tsx";
import { changedMembers, type FormDraft, otherErrors } from "../../forms/draft-changes.ts";
import type { NamedField } from "../../forms/schema-fields.ts";
import { MemberFields } from "../../forms/value-field.tsx";
import { Notice } from "../../parts/notice.tsx";
import { PlanDialog } from "../../plans/plan-dialog.tsx";
import { type EntityWrite, type PlannedWrite, performWrite, planWrite, type WriteResult } from "../../plans/write.ts";

interface EntityFormProps {
  readonly fields: readonly NamedField[];
  /** The stored entity, or the defaults of a new one. */
  readonly before: FormDraft;
  /** The values that the form shows at first, if they are not `before`. */
  readonly prefilled?: FormDraft;
  /** Members that are sent besides those of the form. */
  readonly always?: FormDraft;
  readonly write: Pick<EntityWrite, "method" | "path" | "tag">;
  readonly disabled: boolean;
  /** Names of fields that are shown at once. */
  readonly main: readonly string[];
  readonly onSaved: (result: WriteResult, sent: FormDraft) => void;
}

export function EntityForm({ fields, before, prefilled, always, write, disabled, main, onSaved }: EntityFormProps) {
  const [draft, setDraft] = useState<FormDraft>(prefilled ?? before);
  const [errors, setErrors] = useState<FormDraft>({});
  const [failure, setFailure] = useState<string>();
  const [planned, setPlanned] = useState<PlannedWrite>();
  const [isBusy, setBusy] = useState(false);
  const summary = useRef<HTMLDivElement>(null);
  const json = { ...always, ...changedMembers(fields, before, draft) };
  const isChanged = write.method === "POST" || Object.keys(json).length > 0;

  useEffect(() => {
    if (failure !== undefined) summary.current?.focus();
  }, [failure]);

  async function attempt(run: () => Promise<void>): Promise<void> {
    setBusy(true);
    setFailure(undefined);
    setErrors({});
    try {
      await run();
    } catch (error) {
      setPlanned(undefined);
      setFailure(failureText(error));
      if (error instanceof ApiError) setErrors(Object(error.body.fields));
    } finally {
      setBusy(false);
    }
  }
  const submit = (event: Event) => {
    event.preventDefault();
    if (isBusy) return;
    if (!isChanged) return announceToReader("Nothing has changed.");
    void attempt(async () => setPlanned(await planWrite({ ...write, json })));
  };
  const save = (confirmed: PlannedWrite) =>
    attempt(async () => {
      const result = await performWrite(confirmed.write);
      setPlanned(undefined);
      onSaved(result, json);
    });

  const others = otherErrors(errors, fields);
  return (
    <form class="entity-form" onSubmit={submit} noValidate>
      {failure !== undefined && (
        <div ref={summary} tabIndex={-1}>
          <Notice kind="error">
            {others.length > 0
              ? others.join("; ")
              : Object.keys(errors).length > 0
                ? "Some fields are not valid. The errors are shown at the fields."
                : failure}
          </Notice>
        </div>
      )}
      <MemberFields
        main={main}
        id="f"
        fields={fields}
        members={draft}
        onMembers={setDraft}
        error={errors}
        isStored={write.method === "PATCH"}
        disabled={disabled}
      />
      {!disabled && (
        <p class="actions">
          <button type="submit" class="primary">
            Plan the change
          </button>
          <span class="hint">
            {isChanged ? "Nothing is stored before you have seen what would change." : "Nothing has changed yet."}
          </span>
        </p>
      )}
      {planned && (
        <PlanDialog
          title="What would change"
          confirm="Save"
          cancel="Back to the form"
          plan={planned.plan}
          isBusy={isBusy}
          onConfirm={() => save(planned)}
          onClose={() => setPlanned(undefined)}
        />
      )}
    </form>
  );
}
