/**
 * What stands in the document for a resource that cannot be served and must not leave a door open:
 * a route whose service is missing answers 503, and so does whatever an invalid plugin would act on that protects, or
 * may protect because it is not known.
 */
import type { CheckedTranslation } from "@sluice/crds";
import { checkEntity, deriveId, mayProtect, type PluginName, plugins } from "@sluice/model";
import type { Item, Owner } from "./translation.ts";

type Entity = Item["entity"];
type Entry = Pick<CheckedTranslation, "item" | "violations">;

/** The model takes 1024 characters; a reason that is cut is better than a door that stays open. */
const MAX_REASON = 1000;

/** Why a resource answers 503, for the nodes' logs: the first few faults in one sentence. */
export function reasonFor({ kind, namespace, name }: Owner, messages: readonly string[]): string {
  const reason = `${kind} ${namespace}/${name}: ${messages.slice(0, 3).join("; ")}`;
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON).toWellFormed()}…` : reason;
}

export interface StandIns {
  /** The route, answering 503 for the reason; undefined when it is not even known what it matches. */
  route(piece: Entry, reason: string): Entity | undefined;
  /**
   * The plugin as one that answers 503; undefined when it keeps nobody out, is switched off, may not be for all
   * requests, or has a target that is not there, so that there is nothing to protect.
   */
  plugin(piece: Entry, options: PluginOptions): Entity | undefined;
}

interface PluginOptions {
  readonly owner: Owner;
  readonly reason: string;
  /** Whether a plugin with this id is there already. */
  readonly isTaken: (id: string) => boolean;
}

/** Remembers stand-ins by what they stand for: the same one as before is the same object. */
export function createStandIns(): StandIns {
  const made = new WeakMap<Entry, { readonly reason: string; readonly entity: Entity | undefined }>();

  function remember(piece: Entry, reason: string, entity: Entity | undefined): Entity | undefined {
    made.set(piece, { reason, entity });
    return entity;
  }

  return {
    route(piece, reason) {
      const before = made.get(piece);
      return before?.reason === reason ? before.entity : remember(piece, reason, unavailableRoute(piece, reason));
    },
    plugin(piece, { owner, reason, isTaken }) {
      const before = made.get(piece);
      if (before?.reason === reason && !(before.entity && isTaken(before.entity.id))) return before.entity;
      // An id of its own: the plugin may be here because another has the one that its name gives.
      return remember(piece, reason, unavailablePlugin(piece, freeId(owner, isTaken), reason));
    },
  };
}

function unavailableRoute({ item }: Entry, reason: string): Entity | undefined {
  const extras = item._sluice as object;
  const checked = checkEntity("routes", { ...item, service: null, _sluice: { ...extras, unavailable: reason } });
  return checked.value;
}

function unavailablePlugin({ item, violations }: Entry, id: string, reason: string): Entity | undefined {
  const { name, enabled, service, route, created_at, updated_at } = item;
  if (!mayProtect(name) || enabled === false) return undefined;
  if (violations.some((violation) => violation.reason === "NotAllowed")) return undefined;
  const isKnown = Object.hasOwn(plugins, String(name));
  const refuses = isKnown ? plugins[name as PluginName].refuses : [];
  const consumer = refuses.includes("consumer") ? undefined : item.consumer;
  // Without the target that it refuses, a plugin for one consumer would be one for everybody.
  if (item.consumer && !service && !route && !consumer) return undefined;
  const entity = { id, service, route, consumer, created_at, updated_at, _sluice: { unavailable: reason } };
  // A name that is none still closes what it was written for.
  return (
    checkEntity("plugins", { ...entity, name }).value ?? checkEntity("plugins", { ...entity, name: "unknown" }).value
  );
}

function freeId({ namespace, name }: Owner, isTaken: PluginOptions["isTaken"]): string {
  for (let number = 0; ; number++) {
    const id = deriveId("plugins", `unavailable:${namespace}/${name}${number > 0 ? `:${number}` : ""}`);
    if (!isTaken(id)) return id;
  }
}
