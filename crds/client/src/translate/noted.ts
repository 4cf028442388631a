/** A translation that knows what it relied on, for callers who keep it as long as it holds. */
import type { Resource } from "../resource.ts";
import { type CheckedTranslation, translate } from "./translate.ts";
import type { TranslateOptions } from "./translation.ts";

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
  const questions: { readonly again: (from: Ask) => unknown; readonly answer: unknown }[] = [];
  const note = <Answer>(question: (from: Ask) => Answer): Answer => {
    const answer = question(ask);
    questions.push({ again: question, answer });
    return answer;
  };
  const translated = translate(resource, {
    ...options,
    resolve: (kind, namespace, name) => note((from) => from.resolve(kind, namespace, name)),
    read: (kind, namespace, name) => note((from) => from.read(kind, namespace, name)),
    allows: (crossing) => note((from) => from.allows(crossing)),
    opened(namespace) {
      note((from) => from.opened(namespace).join());
      return ask.opened(namespace);
    },
  });
  return { translated, holds: (from) => questions.every(({ again, answer }) => again(from) === answer) };
}
