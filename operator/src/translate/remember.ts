/**
 * Remembers each resource's own translation. It holds while the resource's generation is the same and everything that
 * was asked for (references, Secrets, core Services) still has the same answer; then the very same objects come back,
 * by which the next stages see that nothing changed.
 */
import {
  type CheckedTranslation,
  type Resource,
  type SluiceKind,
  type TranslateOptions,
  translate,
} from "@sluice/crds";
import { type Item, type Owner, ownerKey } from "./translation.ts";

type Ask = Pick<TranslateOptions, "resolve" | "read">;

interface Question {
  readonly ask: (from: Ask) => unknown;
  readonly answer: unknown;
}

/** One entity of a resource, and what the translation of the whole needs of it again and again. */
export interface Piece extends CheckedTranslation {
  /** Undefined when there are violations. */
  readonly asItem: Item | undefined;
  /** `refersTo` as keys of owners. */
  readonly targets: readonly { readonly kind: SluiceKind; readonly name: string; readonly key: string }[];
}

export interface Remembered {
  readonly owner: Owner;
  /** `ownerKey` of the owner. */
  readonly key: string;
  readonly pieces: readonly Piece[];
}

interface Entry extends Remembered {
  readonly uid: string | undefined;
  readonly version: number | string | undefined;
  readonly questions: readonly Question[];
}

export interface Memory {
  translateOne(kind: SluiceKind, resource: Resource, ask: Ask): Remembered;
  /** Lets go of resources that are not there any more. */
  keepOnly(keys: ReadonlyMap<string, unknown>): void;
}

function pieceOf(owner: Owner, checked: CheckedTranslation): Piece {
  const { entity, refersTo = [] } = checked;
  const targets = refersTo.map(({ kind, name }) => ({
    kind,
    name,
    key: ownerKey({ kind, namespace: owner.namespace, name }),
  }));
  return { ...checked, asItem: entity && { owner, entity: entity as unknown as Item["entity"] }, targets };
}

export function createMemory(homeNamespace: string): Memory {
  const remembered = new Map<string, Entry>();
  /** The shorter way to an entry for a resource that is the very same object as before. */
  const entries = new WeakMap<Resource, Entry>();

  const holds = ({ questions }: Entry, ask: Ask) => questions.every(({ ask: again, answer }) => again(ask) === answer);

  function translateAnew(owner: Owner, resource: Resource, ask: Ask): Pick<Entry, "questions" | "pieces"> {
    const questions: Question[] = [];
    const note = <Answer>(question: (from: Ask) => Answer): Answer => {
      const answer = question(ask);
      questions.push({ ask: question, answer });
      return answer;
    };
    const translated = translate(resource, {
      homeNamespace,
      audience: "nodes",
      resolve: (kind, namespace, name) => note((from) => from.resolve(kind, namespace, name)),
      read: (kind, namespace, name) => note((from) => from.read(kind, namespace, name)),
    });
    return { questions, pieces: translated.map((checked) => pieceOf(owner, checked)) };
  }

  return {
    translateOne(kind, resource, ask) {
      const same = entries.get(resource);
      if (same && holds(same, ask)) return same;
      const { namespace, name, uid, generation, resourceVersion } = resource.metadata;
      const version = generation ?? resourceVersion;
      const key = ownerKey({ kind, namespace, name });
      const before = remembered.get(key);
      if (before && before !== same && before.uid === uid && before.version === version && holds(before, ask)) {
        entries.set(resource, before);
        return before;
      }
      const owner: Owner = before?.owner ?? { kind, namespace, name };
      const entry: Entry = { owner, key, uid, version, ...translateAnew(owner, resource, ask) };
      remembered.set(key, entry);
      entries.set(resource, entry);
      return entry;
    },
    keepOnly(keys) {
      for (const key of remembered.keys()) if (!keys.has(key)) remembered.delete(key);
    },
  };
}
