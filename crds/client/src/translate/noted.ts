/** A translation that knows what it relied on, for callers who keep it as long as it holds. */
import type { Resource } from "../resource.ts";
import { type CheckedTranslation, translate } from "./translate.ts";
import type { Crossing, TranslateOptions } from "./translation.ts";

export type Ask = Pick<TranslateOptions, "resolve" | "read" | "allows" | "opened">;

export interface NotedTranslation {
  readonly translated: readonly CheckedTranslation[];
  /** Whether everything that was asked for (references, Secrets, core Services) still has the same answer. */
  holds(ask: Ask): boolean;
}

export function translateNoted(
  resource: Resource,
  options: Omit<TranslateOptions, keyof Ask>,
  ask: Ask,
): NotedTranslation {
  const questions: Question[] = [];
  const note = <Answer>(again: (from: Ask) => Answer): Answer => {
    const answer = again(ask);
    questions.push({ again, answer });
    return answer;
  };
  const translated = translate(resource, {
    ...options,
    resolve: (kind, namespace, name) => note(resolving(kind, namespace, name)),
    read: (kind, namespace, name) => note(reading(kind, namespace, name)),
    allows: (crossing) => note(allowing(crossing)),
    opened(namespace) {
      note(opening(namespace));
      return ask.opened(namespace);
    },
  });
  return { translated, holds: holding(questions) };
}

interface Question {
  readonly again: (from: Ask) => unknown;
  readonly answer: unknown;
}

// Made here, so that they keep nothing but what they ask: there are tens of thousands of them.
const resolving =
  (...of: Parameters<Ask["resolve"]>) =>
  (from: Ask) =>
    from.resolve(...of);
const reading =
  (...of: Parameters<Ask["read"]>) =>
  (from: Ask) =>
    from.read(...of);
const allowing = (crossing: Crossing) => (from: Ask) => from.allows(crossing);
const opening = (namespace: string) => (from: Ask) => from.opened(namespace).join();

const always = () => true;

const holding = (questions: readonly Question[]): NotedTranslation["holds"] =>
  questions.length === 0 ? always : (from) => questions.every(({ again, answer }) => again(from) === answer);
