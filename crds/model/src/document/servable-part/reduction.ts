/** Removes entities from a document, or has requests in their scope answered 503, until the document is valid. */
import { isRecord, type Violation } from "@sluice/plugin-sdk";
import { unavailablePlugin } from "../../check/close-plugin.ts";
import { checkEntity } from "../../check/index.ts";
import type { Document } from "../../document.ts";
import { type Collection, entities, references } from "../../entities/index.ts";
import { servedProtocols, streamProtocols } from "../../entities/plugin.ts";
import { deriveNamelessId } from "../../ids.ts";
import { PLUGIN_NAME, PLUGIN_NAME_LENGTH, pluginNamed } from "../../plugins/index.ts";
import { applyDocument } from "../../snapshot/apply.ts";
import { emptySnapshot } from "../../snapshot/make-snapshot.ts";
import { describeViolation } from "../describe.ts";
import { GROUP_PLUGINS } from "../flatten/top-level.ts";
import { closedRoute } from "./closed-route.ts";
import {
  CLOSED_ROUTES,
  type DocumentItem,
  hasServedProtocol,
  isBelow,
  isForConnections,
  isOptional,
  isProtecting,
  isReference,
  labelOf,
  mayAdmitUnknown,
  mayBeProtected,
  omitMembers,
  readableMembers,
  referencedBy,
  unresolvedReferenceIn,
  type ViolationPath,
} from "./items.ts";

export type { DocumentItem };

/**
 * The member `protocols` of a plugin that refuses all requests and connections of its scope. A plugin that is attached
 * to a route or a service also refuses its connections with the default value.
 */
const protocolsFor = ({ route, service }: DocumentItem["members"]): { readonly protocols?: readonly string[] } =>
  route || service ? {} : { protocols: [...servedProtocols, ...streamProtocols] };

/** Something in the document that is not served. */
export interface Unserved {
  readonly violation: Violation;
  /**
   * `closed`: requests in the scope of the entity are answered 503. `all closed`: all requests are answered 503,
   * because the scope cannot be recognized or is the whole document. `left out`: the entity or the member is removed.
   */
  readonly outcome: "closed" | "all closed" | "left out";
  /** The number of entities that are left out because they refer to this entity, directly or through another. */
  readonly dependents: number;
  /** The routes for served protocols that are left out: this entity if it is a route, and the routes among the dependents. */
  readonly leftOutRoutes: readonly Readonly<Record<string, unknown>>[];
  /** Names or ids of routes that refer to this entity and answer 503, because Kong may refuse their requests. */
  readonly closedRoutes: readonly string[];
}

/** The entities that a removal affected, without the removed entity. */
interface Removal {
  readonly dependents: DocumentItem[];
  readonly closedRoutes: DocumentItem[];
}

export class Reduction {
  items: readonly DocumentItem[];
  unserved: Unserved[] = [];

  constructor(items: readonly DocumentItem[]) {
    this.items = items;
  }

  /** Handles the violations found by flattening: in the document's own members, references and removed members. */
  takeDocumentFaults(violations: readonly Violation[]): void {
    for (const violation of violations) {
      const item = this.#ownerOf(violation.path);
      const member = String(violation.path[item?.origin.length ?? 0]);
      if (item === undefined) this.#takeFaultOfDocument(violation, member);
      else if (item.collection === "plugins" || isReference(item, member)) this.#take(item, [violation]);
      else if (item.collection === "services" || item.collection === "routes") {
        this.#close(violation, { [entities[item.collection].singular]: { id: item.members.id } });
        this.#report("closed", [violation]);
      } else this.#report("left out", [violation]);
    }
  }

  reduce(): Document {
    let inVaults = this.#vaultReferences();
    for (;;) {
      const lists = Map.groupBy(this.items, ({ collection }) => collection);
      const document = {
        _format_version: "3.0",
        ...Object.fromEntries([...lists].map(([name, items]) => [name, items.map(({ members }) => members)])),
      } as Document;
      const validated = new Map(this.items.map((item) => [item, item.members]));
      const { violations = [] } = applyDocument(emptySnapshot, document);
      if (violations.length + inVaults.size === 0) return document;
      const byItem = Map.groupBy(violations, ({ path }) => lists.get(path[0] as Collection)?.[Number(path[1])]);
      for (const [item, faults] of byItem) {
        if (item === undefined) throw new Error(`a violation without an entity: ${faults.map(describeViolation)}`);
        if (inVaults.has(item)) continue;
        const inFile = faults.map((fault) => ({ ...fault, path: [...item.origin, ...fault.path.slice(2)] }));
        this.#takeOrReport(item, inFile, validated);
      }
      for (const [item, fault] of inVaults) this.#takeOrReport(item, [fault], validated);
      inVaults = new Map();
    }
  }

  /**
   * A violation for each entity with a vault reference that nodes do not resolve: a node would use the text
   * `{vault://…}` itself, even as a secret.
   */
  #vaultReferences(): ReadonlyMap<DocumentItem, Violation> {
    const message =
      "only some fields of plugins' configs may refer to a vault, and only to one of the kind env: write the value, or " +
      "use a custom resource with a Secret";
    const vaults = this.items.filter(({ collection }) => collection === "vaults");
    const prefixes = vaults.flatMap(({ members }) => checkEntity("vaults", members).value?.prefix ?? []);
    return new Map(
      this.items.flatMap((item) => {
        const path = unresolvedReferenceIn(item, prefixes);
        return path === undefined ? [] : [[item, { path: [...item.origin, ...path], message }] as const];
      }),
    );
  }

  /**
   * Handles the violations of an entity. If the entity was already left out, they are only reported, so that the user
   * sees all violations at once.
   */
  #takeOrReport(
    item: DocumentItem,
    faults: readonly Violation[],
    validated: ReadonlyMap<DocumentItem, DocumentItem["members"]>,
  ): void {
    if (!this.items.includes(item)) this.#report("left out", faults);
    // Since the validation, another entity has made this plugin answer 503, which may have removed the invalid members.
    else if (item.closed && item.members !== validated.get(item)) this.#report("closed", faults);
    else this.#take(item, faults);
  }

  #report(
    outcome: Unserved["outcome"],
    violations: readonly Violation[],
    { dependents = [], closedRoutes = [], removed }: Partial<Removal> & { readonly removed?: DocumentItem } = {},
  ): void {
    const routes = [...(removed ? [removed] : []), ...dependents].filter(
      (item) => item.collection === "routes" && hasServedProtocol(item),
    );
    const effects = {
      dependents: dependents.length,
      leftOutRoutes: routes.map(({ members }) => members),
      closedRoutes: closedRoutes.map(labelOf),
    };
    for (const violation of violations) this.unserved.push({ violation, outcome, ...effects });
  }

  #ownerOf(path: ViolationPath): DocumentItem | undefined {
    return this.items
      .filter(({ origin }) => isBelow(path, origin))
      .sort((one, other) => other.origin.length - one.origin.length)[0];
  }

  /** Filter chains and overrides of consumer groups may protect any request, so their scope is all requests. */
  #takeFaultOfDocument(violation: Violation, member: string): void {
    const isClosed = member === "filter_chains" || member === GROUP_PLUGINS;
    if (isClosed) this.#close(violation, {});
    this.#report(isClosed ? "all closed" : "left out", [violation]);
  }

  /** Adds a plugin that answers 503, by default named after the member with the violation. */
  #close(violation: Violation, scope: DocumentItem["members"], name = nameOfMember(violation.path)): void {
    const id = deriveNamelessId("plugins", null, { name, ...scope });
    if (this.items.some(({ members }) => members.id === id)) return;
    const members = unavailablePlugin({ id, name, ...protocolsFor(scope), ...scope }, [violation]);
    this.items = [...this.items, { collection: "plugins", origin: [], members, closed: true, reduced: false }];
  }

  #take(item: DocumentItem, faults: readonly Violation[]): void {
    const memberOf = ({ path }: Violation) => path[item.origin.length];
    const optional = faults.filter((fault) => isOptional(item, memberOf(fault)));
    if (optional.length > 0) {
      item.members = omitMembers(item.members, new Set<unknown>(optional.map(memberOf)));
      item.reduced = true;
      this.#report("left out", optional);
    }
    const rest = faults.filter((fault) => !optional.includes(fault));
    if (rest.length > 0) this.#takeRequired(item, rest);
  }

  #takeRequired(item: DocumentItem, faults: readonly Violation[]): void {
    const isRoute = item.collection === "routes" && !this.#hasTwin(item);
    if (isProtecting(item) && !item.closed) this.#closePlugin(item, faults);
    else if (isRoute && mayBeProtected(item, this.items)) this.#closeRoute(item, faults);
    else this.#leaveOut(item, faults);
  }

  #leaveOut(item: DocumentItem, faults: readonly Violation[]): void {
    const removal: Removal = { dependents: [], closedRoutes: [] };
    this.#remove(item, faults, removal);
    // A plugin that answers 503 can still be invalid, for example as the second plugin of its name in the same scope.
    // Then only its removal is reported.
    if (item.closed) this.unserved = this.unserved.filter(({ violation }) => !isBelow(violation.path, item.origin));
    this.#report("left out", faults.slice(0, 1), { ...removal, removed: item });
    this.#report("left out", faults.slice(1));
  }

  /**
   * Makes a plugin answer 503. A plugin that lost a part of its scope is renamed, because the wider scope may have a
   * plugin of the same name. A plugin with an invalid name is renamed too. Of several plugins that get the same name
   * and scope, only one is kept, so it must act on all protocols.
   */
  #closePlugin(item: DocumentItem, faults: readonly Violation[]): void {
    const isOfScope = ({ path }: Violation) => !withoutScope.has(path[item.origin.length]);
    const isOfProtocols = ({ path }: Violation) => path[item.origin.length] === "protocols";
    const readable = readableMembers(item, faults);
    const { name: given } = readable;
    const isRenamed = faults.some(isOfScope) && (!item.closed || pluginNamed(given) !== undefined);
    const keepsName = typeof given === "string" && PLUGIN_NAME.test(given) && !isRenamed;
    item.members = unavailablePlugin(
      keepsName
        ? { ...(faults.some(isOfProtocols) && protocolsFor(readable)), ...readable }
        : {
            ...omitMembers(readable, new Set(["protocols"])),
            ...protocolsFor(readable),
            name: unavailableName(given),
          },
      faults,
    );
    item.closed = true;
    this.#report("closed", faults);
  }

  /**
   * Makes a route answer 503; if the route has no closed form, all requests are answered 503. Without the route, its
   * requests would match other routes, which its plugins do not protect.
   */
  #closeRoute(item: DocumentItem, faults: readonly Violation[]): void {
    const inRoute = faults.map((fault) => ({ ...fault, path: fault.path.slice(item.origin.length) }));
    const members = item.closed ? undefined : closedRoute(item.members, inRoute);
    for (const fault of faults.slice(0, 1)) {
      if (members === undefined) {
        this.#remove(item, faults, { dependents: [], closedRoutes: [] });
        this.#close(fault, isForConnections(item) ? { protocols: streamProtocols } : {}, CLOSED_ROUTES);
      } else this.#keepClosed(item, members, fault);
    }
    this.#report(members === undefined ? "all closed" : "closed", faults);
  }

  #keepClosed(item: DocumentItem, members: DocumentItem["members"], fault: Violation): void {
    item.members = members;
    item.closed = true;
    this.#close(fault, { route: { id: members.id } }, CLOSED_ROUTES);
  }

  /** Whether another entity has the same id, so that references to the id remain valid after a removal. */
  #hasTwin = ({ collection, members }: DocumentItem): boolean =>
    this.items.filter((one) => one.collection === collection && one.members.id === members.id).length > 1;

  /**
   * Removes the entity and the entities that refer to it. Protected routes and protecting plugins answer 503 instead
   * of being removed, and entities for which the reference is optional only lose the reference.
   */
  #remove(item: DocumentItem, faults: readonly Violation[], removal: Removal): void {
    const dependents = this.#hasTwin(item) ? [] : dependentsOf(item, this.items);
    const closedRoutes = dependents.filter(
      ({ one }) => item.collection === "services" && one.collection === "routes" && mayBeProtected(one, this.items),
    );
    const isIdentified = this.#mayIdentify(item);
    this.items = this.items.filter((one) => one !== item);
    this.#closeWhatOpens(item, faults);
    for (const dependent of dependents) {
      const { one, member } = dependent;
      if (!this.items.includes(one)) continue;
      if (closedRoutes.includes(dependent)) {
        for (const fault of faults.slice(0, 1)) this.#keepClosed(one, { ...one.members, service: null }, fault);
        removal.closedRoutes.push(one);
      } else if (isProtecting(one) && isIdentified) this.#closeWith(one, member, item, faults);
      else if (isOptional(one, member)) {
        one.members = omitMembers(one.members, new Set([member]));
        one.reduced = true;
      } else {
        removal.dependents.push(one);
        this.#remove(one, faults, removal);
      }
    }
    this.#closeMtlsAuth(item, faults);
  }

  /**
   * Whether requests of a removed consumer, or of the consumers in a removed group, may still be admitted. If so,
   * plugins attached to the consumer or the group may protect these requests. False for entities of other collections.
   */
  #mayIdentify({ collection }: DocumentItem): boolean {
    if (collection === "consumer_groups") return true;
    return collection === "consumers" && this.items.some(mayAdmitUnknown);
  }

  /**
   * After the removal of a consumer, or of a credential of mtls-auth: makes a plugin mtls-auth answer 503 if it
   * could now admit the consumer's certificates as those of another consumer.
   */
  #closeMtlsAuth(item: DocumentItem, faults: readonly Violation[]): void {
    if (item.collection !== "consumers" && item.collection !== "mtls_auth_credentials") return;
    for (const one of this.items) {
      if (one.members.name === "mtls-auth" && mayAdmitUnknown(one)) this.#closeWith(one, "config", item, faults);
    }
  }

  /**
   * If a membership in a group is removed, the acl plugins that deny the group and the plugins of the group answer 503,
   * because they would no longer act on the consumer. If the consumer is removed too, this is needed only if the
   * consumer's requests may still be admitted.
   */
  #closeWhatOpens(item: DocumentItem, faults: readonly Violation[]): void {
    const { collection, members } = item;
    const consumer = referencedBy(item, "consumer");
    const has = (name: Collection, id: unknown) =>
      this.items.some((one) => one.collection === name && one.members.id === id);
    if (collection !== "acls" && collection !== "consumer_group_consumers") return;
    const member = collection === "acls" ? "group" : "consumer_group";
    const groupIn = (one: DocumentItem) => (collection === "acls" ? one.members.group : referencedBy(one, member));
    const isTwin = (one: DocumentItem) =>
      one.collection === collection && referencedBy(one, "consumer") === consumer && groupIn(one) === groupIn(item);
    if (this.items.some(isTwin)) return;
    if (!has("consumers", consumer) && !this.items.some(mayAdmitUnknown)) return;
    // If the group itself is left out, `#remove` handles its plugins as entities that refer to the group.
    if (collection !== "acls" && !has("consumer_groups", groupIn(item))) return;
    for (const one of this.items) {
      if (!isProtecting(one) || one.closed) continue;
      if (collection === "acls" && denies(one, members.group)) this.#closeWith(one, "config", item, faults);
      else if (collection !== "acls" && referencedBy(one, member) === groupIn(item)) {
        this.#closeWith(one, member, item, faults);
      }
    }
  }

  /** Makes a plugin answer 503 because its member depends on an entity that is left out. */
  #closeWith(plugin: DocumentItem, member: string, { collection }: DocumentItem, faults: readonly Violation[]): void {
    const { singular } = entities[collection];
    const because = faults.slice(0, 1).map(describeViolation).join("");
    const relation = member === "config" ? "depends on" : "applies to";
    const message = `${relation} a ${singular} that is left out: ${because}`;
    this.#closePlugin(plugin, [{ path: [...plugin.origin, member], message }]);
  }
}

/** Members of a plugin that do not determine its scope. */
const withoutScope: ReadonlySet<unknown> = new Set([
  ...["config", "name", "instance_name", "protocols", "enabled", "@entity"],
  // `undefined`: the path of the violation names no member, so the violation is about the whole plugin.
  undefined,
]);

const nameOfMember = (path: ViolationPath): string => wordsIn(path.findLast((step) => typeof step === "string"));

/** A name that no plugin has. */
const unavailableName = (name: unknown): string =>
  `unavailable-${wordsIn(name)}`.slice(0, PLUGIN_NAME_LENGTH).replace(/-$/, "");

const wordsIn = (text: unknown): string =>
  String(text ?? "")
    .toLowerCase()
    .match(/[a-z0-9]+/g)
    ?.join("-") ?? "";

/** Whether the plugin is acl and `deny` has the group; also true if `deny` is set but it or the group is unreadable. */
function denies({ members: { name, config } }: DocumentItem, group: unknown): boolean {
  const { deny } = isRecord(config) ? config : {};
  if (name !== "acl" || (deny ?? null) === null) return false;
  const isKnown = typeof group === "string" && !group.startsWith("{vault://");
  return !isKnown || !Array.isArray(deny) || deny.includes(group);
}

interface Dependent {
  readonly one: DocumentItem;
  readonly member: string;
}

/**
 * The entities that refer to an entity, each with the referring member. A service refers to an upstream by its host:
 * without the upstream, the host would be looked up in DNS.
 */
function dependentsOf(
  { collection, members: { id, name } }: DocumentItem,
  items: readonly DocumentItem[],
): readonly Dependent[] {
  return items.flatMap((one): readonly Dependent[] => {
    const isByHost = collection === "upstreams" && one.collection === "services" && hostOf(one) === name;
    const reference = references[one.collection].find(
      ({ member, to }) => to === collection && referencedBy(one, member) === id,
    );
    const member = reference?.member ?? (isByHost ? "host" : undefined);
    return member === undefined ? [] : [{ one, member }];
  });
}

const hostOf = ({ members: { host, url } }: DocumentItem): unknown =>
  typeof url === "string" ? URL.parse(url)?.hostname : host;
