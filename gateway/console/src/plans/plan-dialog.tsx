/** Shows the changes that a write would make, and asks for confirmation. */
import { Dialog } from "../parts/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { hasChanges, type PlanBody } from "./change-plan.ts";
import { PlanView } from "./plan-view.tsx";

export interface PlanDialogTexts {
  readonly title: string;
  readonly confirm: string;
  readonly cancel: string;
}

interface PlanDialogProps extends PlanDialogTexts {
  /** Undefined while the write is being planned. */
  readonly plan: PlanBody | undefined;
  readonly failure?: string | undefined;
  /** Whether the write can delete entities. */
  readonly isDangerous?: boolean;
  readonly isBusy: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
}

export function PlanDialog({ title, confirm, cancel, plan, failure, isBusy, ...props }: PlanDialogProps) {
  const isPossible = failure === undefined && plan !== undefined && hasChanges(plan);
  return (
    <Dialog title={title} onClose={props.onClose}>
      {failure !== undefined && <Notice kind="error">{failure}</Notice>}
      {failure === undefined && (plan ? <PlanView plan={plan} /> : <p class="hint">Planning…</p>)}
      <p class="actions">
        {isPossible && (
          <button
            type="button"
            class={props.isDangerous ? "bad" : "primary"}
            aria-busy={isBusy}
            onClick={() => isBusy || props.onConfirm()}
          >
            {confirm}
          </button>
        )}
        <button type="button" onClick={props.onClose}>
          {isPossible || failure === undefined ? cancel : "Close"}
        </button>
      </p>
    </Dialog>
  );
}
