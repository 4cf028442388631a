/** A translation that records its lookups, so that callers can cache it until one of them changes. */
import type { Resource } from "../../resource.ts";
import { type CheckedTranslation, translate } from "../translate.ts";
import type { CrossNamespaceReference, TranslateOptions } from "../translation.ts";

export type TranslationLookups = Pick<TranslateOptions, "resolve" | "read" | "isReferenceAllowed" | "namespacesOpenTo">;

export interface TrackedTranslation {
  readonly translated: readonly CheckedTranslation[];
  /** Whether all lookups (references, Secrets, core Services) still have the same results. */
  isCurrent(ask: TranslationLookups): boolean;
}

export function translateTracked(
  resource: Resource,
  options: Omit<TranslateOptions, keyof TranslationLookups>,
  ask: TranslationLookups,
): TrackedTranslation {
  const questions: RecordedLookup[] = [];
  const note = <Answer>(again: (from: TranslationLookups) => Answer): Answer => {
    const answer = again(ask);
    questions.push({ again, answer });
    return answer;
  };
  const translated = translate(resource, {
    ...options,
    resolve: (kind, namespace, name) => note(resolving(kind, namespace, name)),
    read: (kind, namespace, name) => note(reading(kind, namespace, name)),
    isReferenceAllowed: (crossing) => note(allowing(crossing)),
    namespacesOpenTo(namespace) {
      note(opening(namespace));
      return ask.namespacesOpenTo(namespace);
    },
  });
  return { translated, isCurrent: currencyCheck(questions) };
}

interface RecordedLookup {
  readonly again: (from: TranslationLookups) => unknown;
  readonly answer: unknown;
}

// Created outside of the translation's scope, so that the tens of thousands of closures retain nothing else.
const resolving =
  (...of: Parameters<TranslationLookups["resolve"]>) =>
  (from: TranslationLookups) =>
    from.resolve(...of);
const reading =
  (...of: Parameters<TranslationLookups["read"]>) =>
  (from: TranslationLookups) =>
    from.read(...of);
const allowing = (crossing: CrossNamespaceReference) => (from: TranslationLookups) => from.isReferenceAllowed(crossing);
const opening = (namespace: string) => (from: TranslationLookups) => from.namespacesOpenTo(namespace).join();

const always = () => true;

const currencyCheck = (questions: readonly RecordedLookup[]): TrackedTranslation["isCurrent"] =>
  questions.length === 0 ? always : (from) => questions.every(({ again, answer }) => again(from) === answer);
