/**
 * Translates the world, which is its whole definition (whole.ts), and remembers enough to carry a translation on when few
 * resources have changed (next.ts): the same world gives the same translation, whichever way.
 */
import type { Resource } from "@sluice/crds";
import type { LastValid } from "../durable/last-valid.ts";
import { drain, type Steps } from "../turns.ts";
import type { World } from "../world/world.ts";
import { createLookups } from "./lookups.ts";
import { createNext, type Next } from "./next.ts";
import { createMemory } from "./remember.ts";
import type { Translation } from "./translation.ts";
import { createWhole, type Whole } from "./whole.ts";

export interface TranslatorOptions {
  readonly homeNamespace: string;
  /** Resources of another class belong to another Sluice. */
  readonly class: string;
  /** Which class a resource is of. Default: spec.class, or the default class. */
  readonly classOf?: (resource: Resource) => string;
  /** What stands in for a resource that was made invalid. Absent: nothing does. */
  readonly lastValid?: LastValid;
}

export interface Translator {
  /**
   * Carries the last translation on; undefined: the whole has to be translated.
   *
   * @param changed `ownerKey`s of all resources that mean something else than in the last translated world, or are gone.
   */
  next(world: World, changed: ReadonlySet<string>): Translation | undefined;
  /** The world must stay as it is until the last step, and nothing else be translated meanwhile. */
  whole(world: World): Steps<Translation>;
}

/** More changes than this share of all resources are not worth their own work. */
const SHARE = 1 / 4;
/** But few always are. */
const FEW = 16;
/** And more than these take too long for one turn of the event loop; the whole is translated in many. */
const MANY = 1000;

export function createTranslator(options: TranslatorOptions): Translator {
  const memory = createMemory(options.homeNamespace, options.lastValid);
  const lookups = createLookups(options);
  const translateWhole = createWhole({ memory, lookups });
  let last: Whole | undefined;
  /** Carries on the last translation; made when it is first needed. */
  let next: Next | undefined;

  return {
    next(world, changed) {
      if (!last || changed.size > Math.min(Math.max(FEW, last.parts.size * SHARE), MANY)) return undefined;
      const carried = next ?? createNext({ whole: last, memory, lookups });
      // What is left in the middle is not gone on with.
      next = undefined;
      const translation = carried(world, changed);
      if (translation) next = carried;
      return translation;
    },
    *whole(world) {
      last = undefined;
      next = undefined;
      last = yield* translateWhole(world);
      return last.translation;
    },
  };
}

/** @param changed null (the default): nobody knows. */
export type Translate = (world: World, changed?: ReadonlySet<string> | null) => Translation;

/** Each translation in one piece. */
export function createTranslate(options: TranslatorOptions): Translate {
  const translator = createTranslator(options);
  return (world, changed = null) => (changed && translator.next(world, changed)) ?? drain(translator.whole(world));
}
