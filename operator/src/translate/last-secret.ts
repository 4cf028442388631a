/**
 * What a Certificate whose Secret has become faulty is translated to: what it says now with the last Secret that was
 * good, and the faults of the one it has. Clients go on with the certificate that they know, until there is a good one
 * or the Certificate is removed. That Secret is kept over restarts with the last valid Certificate (durable/last-valid.ts).
 */
import type { Ask, CheckedTranslation, Resource } from "@sluice/crds";

export interface Renewal {
  /** Of the Certificate with the Secret that it names. */
  readonly translated: readonly CheckedTranslation[];
  /** The Secret that it names; undefined: there is none. */
  readonly secret: Resource | undefined;
  /** The last one with which it was good; undefined: none was. */
  readonly last: Resource | undefined;
  readonly translateAgain: (ask: Ask) => readonly CheckedTranslation[];
  readonly ask: Ask;
}

export interface Renewed {
  readonly translated: readonly CheckedTranslation[];
  readonly last: Resource | undefined;
}

export function withLastSecret({ translated, secret, last, translateAgain, ask }: Renewal): Renewed {
  const [faulty] = translated;
  if (faulty?.entity) return { translated, last: secret };
  if (!faulty || !last) return { translated, last };
  const read: Ask["read"] = (kind, namespace, name) => (kind === "Secret" ? last : ask.read(kind, namespace, name));
  const [kept, ...others] = translateAgain({ ...ask, read });
  // More than its Secret is wrong.
  if (!kept?.entity) return { translated, last };
  const violations = faulty.violations.map((violation) => ({
    ...violation,
    message: `${violation.message}; the last valid one is shown until there is another`,
  }));
  return { translated: [{ ...kept, violations }, ...others], last };
}
