/** Remembers each resource's translation while the resource and all that was asked for it stay as they were. */
import { type CheckedTranslation, type Resource, type TranslateOptions, translate } from "@sluice/crds";

export type Ask = Pick<TranslateOptions, "resolve" | "read">;
export type TranslateOne = (resource: Resource, ask: Ask) => readonly CheckedTranslation[];

interface Remembered {
  readonly questions: readonly { readonly ask: (from: Ask) => unknown; readonly answer: unknown }[];
  readonly result: readonly CheckedTranslation[];
}

/** A function of an object that is called again and again with the same ones. They must not change. */
export function remember<Key extends object, Value>(compute: (key: Key) => Value): (key: Key) => Value {
  const known = new WeakMap<Key, { readonly value: Value }>();
  return (key) => {
    const before = known.get(key);
    if (before) return before.value;
    const value = compute(key);
    known.set(key, { value });
    return value;
  };
}

/** By the object itself: a cache gives the same object for as long as the resource is unchanged. */
export function createTranslateOne(homeNamespace: string): TranslateOne {
  const remembered = new WeakMap<Resource, Remembered>();
  return (resource, ask) => {
    const before = remembered.get(resource);
    if (before?.questions.every((question) => question.ask(ask) === question.answer)) return before.result;
    const questions: { ask: (from: Ask) => unknown; answer: unknown }[] = [];
    const note = <Answer>(question: (from: Ask) => Answer): Answer => {
      const answer = question(ask);
      questions.push({ ask: question, answer });
      return answer;
    };
    const result = translate(resource, {
      homeNamespace,
      audience: "admin",
      resolve: (kind, namespace, name) => note((from) => from.resolve(kind, namespace, name)),
      read: (kind, namespace, name) => note((from) => from.read(kind, namespace, name)),
    });
    remembered.set(resource, { questions, result });
    return result;
  };
}
