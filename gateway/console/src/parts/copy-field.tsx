/** A text that the user copies. */
import { useState } from "preact/hooks";
import { announceToReader } from "../app/announcer.tsx";

interface CopyFieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
}

export function CopyField({ id, label, value }: CopyFieldProps) {
  const [copied, setCopied] = useState<string>();
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(value);
      setCopied(value);
      announceToReader("Copied.");
    } catch {
      announceToReader("The browser does not allow copying here: select the text instead.");
    }
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="secret">
        <input id={id} type="text" readOnly value={value} onFocus={({ currentTarget }) => currentTarget.select()} />
        <button type="button" onClick={copy}>
          {copied === value ? "Copied" : "Copy"}
        </button>
      </div>
    </div>
  );
}
