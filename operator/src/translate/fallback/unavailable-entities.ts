/**
 * Stand-ins in the document for resources that cannot be served and must not leave requests unprotected. A stand-in for
 * a route is the route without its service: its requests are answered with 503. So are requests in the scope of a
 * stand-in for an invalid plugin that protects, or that may protect because it is unknown.
 */
import type { CheckedTranslation } from "@sluice/crds";
import { checkEntity, deriveId, mayProtect, pluginNamed, refusedTargets, streamProtocols } from "@sluice/model";
import type { Owner, TranslationItem } from "../translation.ts";

type Entity = TranslationItem["entity"];
type Entry = Pick<CheckedTranslation, "item" | "violations">;

/** The model allows 1024 characters; a shortened reason is better than an unprotected route. */
const MAX_REASON = 1000;

/** Why the requests of a resource are answered with 503, for the nodes' logs: its first three problems. */
export function unavailableReasonFor({ kind, namespace, name }: Owner, messages: readonly string[]): string {
  const reason = `${kind} ${namespace}/${name}: ${messages.slice(0, 3).join("; ")}`;
  return reason.length > MAX_REASON ? `${reason.slice(0, MAX_REASON).toWellFormed()}…` : reason;
}

interface PluginOptions {
  readonly owner: Owner;
  readonly reason: string;
  /** Whether a plugin with this id exists already. */
  readonly isTaken: (id: string) => boolean;
}

/** Caches stand-ins by their originals: an unchanged stand-in is the identical object. */
export function createStandIns() {
  const made = new WeakMap<Entry, { readonly reason: string; readonly entity: Entity | undefined }>();

  function remember(piece: Entry, reason: string, entity: Entity | undefined): Entity | undefined {
    made.set(piece, { reason, entity });
    return entity;
  }

  return {
    /**
     * The route as a stand-in that answers 503; undefined when a member that decides which requests it matches is
     * invalid, for example a path.
     */
    route(piece: Entry, reason: string) {
      const before = made.get(piece);
      return before?.reason === reason ? before.entity : remember(piece, reason, unavailableRoute(piece, reason));
    },
    /**
     * The plugin as a stand-in that answers 503. Undefined when nothing has to be protected: the plugin does not
     * protect, is disabled, is global but must not be, or has only targets that are unknown or that it refuses.
     */
    plugin(piece: Entry, { owner, reason, isTaken }: PluginOptions) {
      const before = made.get(piece);
      if (before?.reason === reason && !(before.entity && isTaken(before.entity.id))) return before.entity;
      // A separate id: another plugin may have the id that is derived from the name of this one.
      return remember(piece, reason, unavailablePlugin(piece, freeId(owner, isTaken), reason));
    },
  };
}

/** The members that decide which requests a route matches. `regex_priority` only orders routes that match. */
const MATCH_MEMBERS: readonly unknown[] = ["protocols", "methods", "hosts", "paths", "headers", "snis"];
/** The members that decide which connections a route matches. */
const STREAM_MEMBERS: readonly unknown[] = ["protocols", "snis", "sources", "destinations"];

function unavailableRoute({ item }: Entry, reason: string): Entity | undefined {
  const extras = item._sluice as { readonly listeners?: unknown };
  const standIn = (members: object) =>
    checkEntity("routes", { ...members, service: null, _sluice: { ...extras, unavailable: reason } });
  const { value, violations = [] } = standIn(item);
  const { protocols } = item;
  const isForConnections = Array.isArray(protocols) && streamProtocols.some((protocol) => protocols.includes(protocol));
  // The hosts of the document's listeners are server names.
  const matching = isForConnections && extras?.listeners === undefined ? STREAM_MEMBERS : MATCH_MEMBERS;
  const faulty = new Set(violations.map(({ path: [member] }) => member).filter((member) => !matching.includes(member)));
  return value ?? standIn(Object.fromEntries(Object.entries(item).filter(([member]) => !faulty.has(member)))).value;
}

function unavailablePlugin({ item, violations }: Entry, id: string, reason: string): Entity | undefined {
  const { name, enabled, service, route, created_at, updated_at } = item;
  if (!mayProtect(name) || enabled === false) return undefined;
  if (violations.some((violation) => violation.reason === "NotAllowed")) return undefined;
  const refuses = refusedTargets(pluginNamed(name) ?? {}).includes("consumer");
  const consumer = refuses ? undefined : item.consumer;
  const consumer_group = refuses || consumer ? undefined : item.consumer_group;
  // The plugin refuses the consumer or group as target. Without any target, the stand-in would apply to all requests.
  if ((item.consumer || item.consumer_group) && !service && !route && !consumer && !consumer_group) return undefined;
  const entity = {
    id,
    service,
    route,
    consumer,
    consumer_group,
    created_at,
    updated_at,
    _sluice: { unavailable: reason },
  };
  // The stand-in for a plugin with an invalid name has the name `unknown`, and answers 503 too.
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
