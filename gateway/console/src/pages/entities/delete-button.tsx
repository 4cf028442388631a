/** Deletes an entity, after the user has seen what is deleted with it. */
import { useState } from "preact/hooks";
import { describeFailure } from "../../api/client.ts";
import { announce } from "../../app/announcer.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Notice } from "../../parts/notice.tsx";
import type { PlanBody } from "./change-plan.ts";
import { PlanView } from "./plan-view.tsx";
import { performWrite, planWrite } from "./write.ts";

interface DeleteButtonProps {
  readonly path: string;
  readonly tag: string | null;
  readonly singular: string;
  readonly title: string;
  readonly onDeleted: () => void;
}

export function DeleteButton({ path, tag, singular, title, onDeleted }: DeleteButtonProps) {
  const [plan, setPlan] = useState<PlanBody>();
  const [failure, setFailure] = useState<string>();
  const write = { method: "DELETE", path, tag } as const;
  const attempt = (run: () => Promise<void>) => {
    setFailure(undefined);
    run().catch((error: unknown) => {
      setPlan(undefined);
      setFailure(describeFailure(error));
    });
  };
  return (
    <section class="danger" aria-labelledby="delete">
      <h2 id="delete">Delete</h2>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      <button type="button" class="bad" onClick={() => attempt(async () => setPlan(await planWrite(write)))}>
        Delete the {singular}…
      </button>
      {plan && (
        <Dialog title={`Delete ${title}?`} onClose={() => setPlan(undefined)}>
          <PlanView plan={plan} />
          <p class="actions">
            <button
              type="button"
              class="bad"
              onClick={() =>
                attempt(async () => {
                  await performWrite(write);
                  announce(`${title} is deleted.`);
                  onDeleted();
                })
              }
            >
              Delete
            </button>
            <button type="button" onClick={() => setPlan(undefined)}>
              Keep it
            </button>
          </p>
        </Dialog>
      )}
    </section>
  );
}
