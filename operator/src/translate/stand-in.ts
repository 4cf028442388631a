/**
 * What stands in the document for a resource that cannot be served and must not leave a door open (house decision 11):
 * a route whose service is missing answers 503, and so does whatever an invalid protecting plugin would act on.
 */
import { type CheckedTranslation, describeResourceViolation } from "@sluice/crds";
import { checkEntity, deriveId, plugins } from "@sluice/model";
import type { Item, Owner } from "./translation.ts";

type Entity = Item["entity"];

/** The route, answering 503 with the reason; undefined when the route itself is invalid. */
export function unavailableRoute({ item }: CheckedTranslation, reason: string): Entity | undefined {
  const extras = item._sluice as object;
  const checked = checkEntity("routes", { ...item, service: null, _sluice: { ...extras, unavailable: reason } });
  return checked.value;
}

/**
 * The plugin as one that answers 503; undefined when it keeps nobody out, is switched off, or has a target that is not
 * there, so that there is nothing to protect.
 */
export function unavailablePlugin({ item }: CheckedTranslation, owner: Owner, reason: string): Entity | undefined {
  const facts = plugins[item.name as keyof typeof plugins];
  if (!facts?.protects || item.enabled === false) return undefined;
  const checked = checkEntity("plugins", {
    // An id of its own: the plugin may be here because another has the one that its name gives.
    id: deriveId("plugins", `unavailable:${owner.namespace}/${owner.name}`),
    name: item.name,
    service: item.service,
    route: item.route,
    consumer: facts.refuses.includes("consumer") ? null : item.consumer,
    created_at: item.created_at,
    _sluice: { unavailable: reason },
  });
  return checked.value;
}

/** The first few faults in one sentence, for people who only see the answer. */
export const reasonOf = (owner: Owner, { violations }: Pick<CheckedTranslation, "violations">): string =>
  `${owner.kind} ${owner.namespace}/${owner.name}: ${violations.slice(0, 3).map(describeResourceViolation).join("; ")}`;
