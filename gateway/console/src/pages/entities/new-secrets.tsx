/** Shows generated secrets once. */
import { CopyField } from "../../parts/copy-field.tsx";
import { Dialog } from "../../parts/dialog.tsx";

interface NewSecretsProps {
  readonly secrets: readonly (readonly [member: string, value: string])[];
  readonly singular: string;
  readonly onClose: () => void;
}

export function NewSecrets({ secrets, singular, onClose }: NewSecretsProps) {
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
