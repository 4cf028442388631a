/** From the world to what is to be published next: batches hold back, the rest is translated and put together. */

import type { Problem } from "../status/conditions.ts";
import type { Translation } from "../translate/translation.ts";
import type { Translator } from "../translate/translator.ts";
import type { Steps } from "../turns.ts";
import { heldStill } from "../world/held-still.ts";
import type { World } from "../world/world.ts";
import type { Batches, HeldBack } from "./batches.ts";
import { type Built, buildSteps } from "./build.ts";
import { withHeldBack } from "./held-back.ts";

export interface MakingOptions {
  /** Every resource, as it stands now. */
  readonly resources: World;
  readonly batches: Batches;
  readonly translator: Translator;
  readonly empty: Built;
}

export interface Made {
  readonly built: Built;
  /** By `ownerKey`. */
  readonly problems: Translation["problems"];
  readonly owners: Translation["owners"];
  /** All resources as they stood when it was begun, or, when a few were translated, as they stand now. */
  readonly resources: World;
  /** `ownerKey`s of all that may differ from what was made before; null: everything. */
  readonly changed: ReadonlySet<string> | null;
  /** Milliseconds until the same world has to be looked at again; null: only when something changes. */
  readonly again: number | null;
}

/**
 * @param changed `ownerKey`s of what means something else than when the last that was made was begun; null: it may be
 *   anything. What changes from the first step on is for the next time. One is made after the other.
 */
export type Make = (changed: ReadonlySet<string> | null) => Steps<Made>;

interface Translated {
  readonly held: Omit<HeldBack, "world">;
  readonly resources: World;
  readonly translation: Translation;
}

export function createMaking({ resources, batches, translator, empty }: MakingOptions): Make {
  let built = empty;
  /** `ownerKey`s of what batches held back or told about in the last translation. */
  let inBatches: ReadonlySet<string> = new Set();

  function* translate(changed: ReadonlySet<string> | null): Steps<Translated> {
    if (changed) {
      const { world, ...held } = batches.holdBack(resources);
      const translation = translator.next(world, union(changed, inBatches, namesIn(held)));
      if (translation) return { held, resources, translation };
    }
    // It takes several turns, in which resources change.
    const still = heldStill(resources);
    const { world, ...held } = batches.holdBack(still);
    return { held, resources: still, translation: yield* translator.whole(world) };
  }

  return function* make(changed) {
    const translated = yield* translate(changed);
    const { held } = translated;
    const translation = withHeldBack(translated.translation, held);
    const result = yield* buildSteps(built, translation);
    const known = changed && union(changed, inBatches, namesIn(held));
    built = result.built;
    inBatches = namesIn(held);
    return {
      built,
      problems: merged(translation.problems, result.problems),
      owners: translation.owners,
      resources: translated.resources,
      changed: known,
      again: held.again,
    };
  };
}

const namesIn = ({ held, problems }: Omit<HeldBack, "world">): ReadonlySet<string> =>
  new Set([...held, ...problems.keys()]);

const union = (...sets: readonly ReadonlySet<string>[]): ReadonlySet<string> =>
  new Set(sets.flatMap((set) => [...set]));

function merged(one: Translation["problems"], other: ReadonlyMap<string, readonly Problem[]>): Translation["problems"] {
  return one.with([...other].map(([key, list]) => [key, [...(one.get(key) ?? []), ...list]] as const));
}
