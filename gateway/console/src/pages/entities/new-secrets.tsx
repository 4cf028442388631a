/** Shows generated secrets once. */
import { useState } from "preact/hooks";
import { announce } from "../../app/announcer.tsx";
import { Dialog } from "../../parts/dialog.tsx";

interface NewSecretsProps {
  readonly secrets: readonly (readonly [member: string, value: string])[];
  readonly singular: string;
  readonly onClose: () => void;
}

export function NewSecrets({ secrets, singular, onClose }: NewSecretsProps) {
  const [copied, setCopied] = useState<string>();
  async function copy(member: string, value: string): Promise<void> {
    try {
      await navigator.clipboard.writeText(value);
      setCopied(member);
      announce("Copied.");
    } catch {
      announce("The browser does not allow copying here: select the text instead.");
    }
  }
  return (
    <Dialog title={`The ${singular} is made`} onClose={onClose}>
      <p>Copy it now: the console does not show it again.</p>
      {secrets.map(([member, value]) => (
        <div key={member} class="field">
          <label for={`secret-${member}`}>{member}</label>
          <div class="secret">
            <input
              id={`secret-${member}`}
              type="text"
              readOnly
              value={value}
              onFocus={({ currentTarget }) => currentTarget.select()}
            />
            <button type="button" onClick={() => copy(member, value)}>
              {copied === member ? "Copied" : "Copy"}
            </button>
          </div>
        </div>
      ))}
      <p class="actions">
        <button type="button" class="primary" onClick={onClose}>
          Done
        </button>
      </p>
    </Dialog>
  );
}
