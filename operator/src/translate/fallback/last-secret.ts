/**
 * Translates a Certificate whose Secret has become invalid: its current content with the last valid Secret, and the
 * problems of the current Secret. Clients keep seeing the certificate that they know until there is a valid one or the
 * Certificate is deleted. The Secret is saved with the last valid Certificate (saved-state/last-valid-versions.ts).
 */
import type { CheckedTranslation, Resource, TranslationLookups } from "@sluice/crds";

export interface Renewal {
  /** Of the Certificate with its current Secret. */
  readonly translated: readonly CheckedTranslation[];
  /** Its current Secret; undefined: there is none. */
  readonly secret: Resource | undefined;
  /** The last valid Secret; undefined: none is known. */
  readonly last: Resource | undefined;
  readonly translateAgain: (ask: TranslationLookups) => readonly CheckedTranslation[];
  readonly ask: TranslationLookups;
}

export interface Renewed {
  readonly translated: readonly CheckedTranslation[];
  readonly last: Resource | undefined;
}

export function withLastSecret({ translated, secret, last, translateAgain, ask }: Renewal): Renewed {
  const [faulty] = translated;
  if (faulty?.entity) return { translated, last: secret };
  if (!faulty || !last) return { translated, last };
  const read: TranslationLookups["read"] = (kind, namespace, name) =>
    kind === "Secret" ? last : ask.read(kind, namespace, name);
  const [kept, ...others] = translateAgain({ ...ask, read });
  // More than its Secret is invalid.
  if (!kept?.entity) return { translated, last };
  const violations = faulty.violations.map((violation) => ({
    ...violation,
    message: `${violation.message}; the last valid one is shown until there is another`,
  }));
  return { translated: [{ ...kept, violations }, ...others], last };
}
