/** A text that the user copies. */
import { useState } from "preact/hooks";
import { announceToReader } from "../app/announcer.tsx";

interface CopyFieldProps {
  readonly id: string;
  readonly label: string;
  readonly value: string;
  /** Whether a long text is shown on several lines. */
  readonly wraps?: boolean;
}

/** Characters that fit in a line of a wrapped text, in the narrowest dialog. */
const LINE = 60;

export function CopyField({ id, label, value, wraps = false }: CopyFieldProps) {
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
  const text = {
    id,
    readOnly: true,
    value,
    onFocus: ({ currentTarget }: { readonly currentTarget: { select(): void } }) => currentTarget.select(),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class="secret">
        {wraps ? <textarea {...text} rows={Math.ceil(value.length / LINE)} /> : <input {...text} type="text" />}
        <button type="button" onClick={copy}>
          {copied === value ? "Copied" : "Copy"}
        </button>
      </div>
    </div>
  );
}
