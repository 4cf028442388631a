/**
 * Remembers each resource's own translation. It holds while the resource's generation is the same and everything that
 * was asked for (references, Secrets, core Services) still has the same answer; then the very same objects come back,
 * by which the next stage sees that nothing changed.
 */
import { type CheckedTranslation, type Resource, type TranslateOptions, translate } from "@sluice/crds";

type Ask = Pick<TranslateOptions, "resolve" | "read">;

interface Question {
  readonly ask: (from: Ask) => unknown;
  readonly answer: unknown;
}

interface Remembered {
  readonly uid: string | undefined;
  readonly version: number | string | undefined;
  readonly questions: readonly Question[];
  readonly result: readonly CheckedTranslation[];
}

export type TranslateOne = (key: string, resource: Resource, ask: Ask) => readonly CheckedTranslation[];

export interface Memory {
  readonly translateOne: TranslateOne;
  /** Lets go of resources that are not there any more. */
  keepOnly(keys: ReadonlyMap<string, unknown>): void;
}

export function createMemory(homeNamespace: string): Memory {
  const remembered = new Map<string, Remembered>();
  return {
    translateOne(key, resource, ask) {
      const { uid, generation, resourceVersion } = resource.metadata;
      const version = generation ?? resourceVersion;
      const before = remembered.get(key);
      if (
        before?.uid === uid &&
        before?.version === version &&
        before?.questions.every((question) => question.ask(ask) === question.answer)
      )
        return before.result;
      const questions: Question[] = [];
      const note = <Answer>(question: (from: Ask) => Answer): Answer => {
        const answer = question(ask);
        questions.push({ ask: question, answer });
        return answer;
      };
      const result = translate(resource, {
        homeNamespace,
        audience: "nodes",
        resolve: (kind, namespace, name) => note((from) => from.resolve(kind, namespace, name)),
        read: (kind, namespace, name) => note((from) => from.read(kind, namespace, name)),
      });
      remembered.set(key, { uid, version, questions, result });
      return result;
    },
    keepOnly(keys) {
      for (const key of remembered.keys()) if (!keys.has(key)) remembered.delete(key);
    },
  };
}
