/** From a translation to the next snapshot. Only what changed is checked; one bad entity never blocks the others. */
import { type Collection, describeViolation, type Endpoint, type Snapshot } from "@sluice/model";
import type { Problem } from "../status/conditions.ts";
import { closedOutcome, LEFT_OUT } from "../translate/outcome.ts";
import { type Item, ownerKey } from "../translate/translation.ts";
import { drain, type Steps } from "../turns.ts";
import { applyInParts } from "./apply-in-parts.ts";
import { culpritsOf } from "./culprits.ts";
import { difference } from "./difference.ts";
import { keepOut } from "./keep-out.ts";

/** What was published, as the next build needs it. */
export interface Built {
  readonly snapshot: Snapshot;
  readonly items: Readonly<Record<Collection, ReadonlyMap<string, Item>>>;
  readonly endpoints: ReadonlyMap<string, readonly Endpoint[]>;
}

export interface BuildResult {
  readonly built: Built;
  /** Problems that only showed when all was put together, by owner key. Empty unless the translation has a gap. */
  readonly problems: ReadonlyMap<string, readonly Problem[]>;
}

type Content = Pick<Built, "items" | "endpoints">;

/** In one piece. */
export const build = (previous: Built, translation: Content): BuildResult => drain(buildSteps(previous, translation));

export function* buildSteps(previous: Built, translation: Content): Steps<BuildResult> {
  let { items, endpoints } = translation;
  const problems = new Map<string, Problem[]>();

  function complain(owner: Item["owner"], problem: Problem): void {
    const key = ownerKey(owner);
    problems.set(key, [...(problems.get(key) ?? []), problem]);
  }

  for (;;) {
    const change = difference(previous, { items, endpoints });
    const applied = yield* applyInParts(previous.snapshot, change);
    if (!applied.violations) return { built: { snapshot: applied.value, items, endpoints }, problems };
    const culprits = culpritsOf(applied.violations, change, items);
    if (culprits.items.size === 0 && culprits.addresses.size === 0)
      throw new Error(`the document cannot be built: ${applied.violations.map(describeViolation).join("; ")}`);

    const left = new Map<Collection, Map<string, Item>>();
    for (const [item, { collection, message }] of culprits.items) {
      const rest = left.get(collection) ?? new Map(items[collection]);
      left.set(collection, rest);
      const standIn = keepOut(collection, item, message);
      if (standIn) rest.set(item.entity.id, standIn);
      else rest.delete(item.entity.id);
      const outcome = standIn ? closedOutcome(item.owner) : LEFT_OUT;
      complain(item.owner, { condition: "Accepted", reason: "Invalid", message, outcome });
    }
    items = { ...items, ...Object.fromEntries(left) };

    if (culprits.addresses.size === 0) continue;
    const addresses = new Map(endpoints);
    for (const [id, message] of culprits.addresses) {
      const service = items.services.get(id);
      // An empty list answers 503; without a list requests would go to the name of the core Service.
      if (service && addresses.get(id)?.length) addresses.set(id, []);
      else addresses.delete(id);
      if (service) complain(service.owner, { condition: "ResolvedRefs", reason: "BackendInvalid", message });
    }
    endpoints = addresses;
  }
}
