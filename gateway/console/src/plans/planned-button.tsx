/** A button whose write is planned, shown, and performed only after the user has confirmed it. */
import { useRef, useState } from "preact/hooks";
import { failureText } from "../api/client.ts";
import { PlanDialog, type PlanDialogTexts } from "./plan-dialog.tsx";
import { type EntityWrite, type PlannedWrite, performWrite, planWrite, type WriteResult } from "./write.ts";

interface PlannedButtonProps extends PlanDialogTexts {
  readonly label: string;
  readonly write: EntityWrite;
  readonly onDone: (result: WriteResult) => void;
}

export function PlannedButton({ label, write, onDone, ...texts }: PlannedButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const [planned, setPlanned] = useState<PlannedWrite>();
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  /** Counts the openings: a plan that arrives after its dialog was closed is dropped. */
  const opening = useRef(0);

  async function plan(): Promise<void> {
    const own = ++opening.current;
    setOpen(true);
    setPlanned(undefined);
    setFailure(undefined);
    try {
      const made = await planWrite(write);
      if (own === opening.current) setPlanned(made);
    } catch (error) {
      if (own === opening.current) setFailure(failureText(error));
    }
  }

  async function perform(confirmed: PlannedWrite): Promise<void> {
    setBusy(true);
    try {
      const result = await performWrite(confirmed.write);
      setOpen(false);
      onDone(result);
    } catch (error) {
      setFailure(failureText(error));
    } finally {
      setBusy(false);
    }
  }

  return (
    <>
      <button type="button" class="bad" onClick={plan}>
        {label}
      </button>
      {isOpen && (
        <PlanDialog
          {...texts}
          plan={planned?.plan}
          failure={failure}
          isBusy={isBusy}
          isDangerous
          onConfirm={() => planned && perform(planned)}
          onClose={() => {
            opening.current++;
            setOpen(false);
          }}
        />
      )}
    </>
  );
}
