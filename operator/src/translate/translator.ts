/**
 * Translates the world, which is its whole definition (whole.ts), and remembers enough to carry a translation on when few
 * resources have changed (next.ts): the same world gives the same translation, whichever way.
 */
import type { LastValid } from "../durable/last-valid.ts";
import type { World } from "../world/world.ts";
import { createLookups } from "./lookups.ts";
import { createNext, type Next } from "./next.ts";
import { createMemory } from "./remember.ts";
import type { Translation } from "./translation.ts";
import { createWhole, type Whole } from "./whole.ts";

export interface TranslatorOptions {
  readonly homeNamespace: string;
  /** Resources with another spec.class belong to another Sluice. */
  readonly class: string;
  /** What stands in for a resource that was made invalid. Absent: nothing does. */
  readonly lastValid?: LastValid;
}

/**
 * @param changed `ownerKey`s of all resources that are other objects than in the last translated world, or gone; null
 *   (the default): nobody knows.
 */
export type Translate = (world: World, changed?: ReadonlySet<string> | null) => Translation;

/** More changes than this share of all resources are not worth their own work. */
const SHARE = 1 / 4;
/** But few always are. */
const FEW = 16;

export function createTranslator(options: TranslatorOptions): Translate {
  const memory = createMemory(options.homeNamespace, options.lastValid);
  const lookups = createLookups(options);
  const translateWhole = createWhole({ class: options.class, memory, lookups });
  let last: Whole | undefined;
  /** Carries on the last translation; made when it is first needed. */
  let next: Next | undefined;

  function carryOn(world: World, changed: ReadonlySet<string>): Translation | undefined {
    if (!last || changed.size > Math.max(FEW, last.parts.size * SHARE)) return undefined;
    const carried = next ?? createNext({ whole: last, memory, lookups });
    // What is left in the middle is not gone on with.
    next = undefined;
    const translation = carried(world, changed);
    if (translation) next = carried;
    return translation;
  }

  return (world, changed = null) => {
    const carried = changed && carryOn(world, changed);
    if (carried) return carried;
    last = undefined;
    next = undefined;
    last = translateWhole(world);
    return last.translation;
  };
}
