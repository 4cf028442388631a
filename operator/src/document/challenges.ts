/** Adds the challenges of orders to the certificates of a translation: nodes answer them (RFC 8555, section 8). */
import type { AcmeChallenge } from "@sluice/model";
import type { Translation, TranslationItem } from "../translate/translation.ts";

/** By the id of the certificate. */
export type PendingChallenges = ReadonlyMap<string, readonly AcmeChallenge[]>;

interface ExtendedItem {
  readonly original: TranslationItem;
  readonly item: TranslationItem;
}

/** Unchanged items stay the same objects, so that they cause no change of the document. */
const extended = new WeakMap<readonly AcmeChallenge[], ExtendedItem>();

/** Challenges of certificates that are not in the translation are left out. */
export function withChallenges(items: Translation["items"], challenges: PendingChallenges): Translation["items"] {
  const certificates = [...challenges].flatMap(([id, list]) => {
    const original = items.certificates.get(id);
    return original ? [[id, withList(original, list)] as const] : [];
  });
  if (certificates.length === 0) return items;
  return { ...items, certificates: items.certificates.with(certificates) };
}

function withList(original: TranslationItem, challenges: readonly AcmeChallenge[]): TranslationItem {
  const known = extended.get(challenges);
  if (known?.original === original) return known.item;
  const { owner, entity } = original;
  const extras = { ...(entity._sluice as object | undefined), challenges };
  const item: TranslationItem = { owner, entity: { ...entity, _sluice: extras } };
  extended.set(challenges, { original, item });
  return item;
}
