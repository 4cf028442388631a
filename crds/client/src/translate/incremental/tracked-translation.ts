/** A translation that records its lookups, so that callers can cache it until the result of one of them changes. */
import { namespacedName, refKey } from "../../keys.ts";
import type { Resource } from "../../resource.ts";
import { type CheckedTranslation, translateToEntities } from "../translate.ts";
import type { CrossNamespaceReference, TranslateOptions } from "../translation.ts";

export type TranslationLookups = Pick<
  TranslateOptions,
  "resolve" | "read" | "hasEntity" | "routeProtocols" | "serviceProtocols" | "isReferenceAllowed" | "namespacesOpenTo"
>;

export interface TrackedTranslation {
  readonly translated: readonly CheckedTranslation[];
  /** The keys of everything that was looked up, whether or not it exists: `refKey`s and keys of grants. */
  readonly dependencies: ReadonlySet<string>;
  /** Whether all lookups (references, Secrets, core Services, grants) still have the same results. */
  isCurrent(lookups: TranslationLookups): boolean;
}

/** The key of the names and ids on which `hasEntity` depends. */
export const entityNamesKey = (kind: string): string => `Entity/${kind}`;

/** The key on which `routeProtocols` of the Route (`namespace/name`) depends: its id may remain the same. */
export const routeProtocolsKey = (route: string): string => `RouteProtocols/${route}`;

/** The key of the Routes on which `serviceProtocols` of the Service (`namespace/name`) depends. */
export const serviceProtocolsKey = (service: string): string => `ServiceProtocols/${service}`;

/** The key of the ReferenceGrants on which `isReferenceAllowed` depends for targets in the namespace. */
export const grantsIntoKey = (namespace: string): string => `ReferenceGrant/in/${namespace}`;

/** The key of the ReferenceGrants on which `namespacesOpenTo` depends for the namespace. */
export const grantsFromKey = (namespace: string): string => `ReferenceGrant/for/${namespace}`;

/** Shared by all translations that look nothing up. */
const noDependencies: ReadonlySet<string> = new Set();

export function translateTracked(
  resource: Resource,
  options: Omit<TranslateOptions, keyof TranslationLookups>,
  lookups: TranslationLookups,
): TrackedTranslation {
  const recorded: RecordedLookup[] = [];
  const dependencies = new Set<string>();
  const record = <Answer>(key: string, again: (from: TranslationLookups) => Answer): Answer => {
    const answer = again(lookups);
    recorded.push({ again, answer });
    dependencies.add(key);
    return answer;
  };
  const translated = translateToEntities(resource, {
    ...options,
    resolve: (kind, namespace, name) => record(refKey({ kind, namespace, name }), resolving(kind, namespace, name)),
    read: (kind, namespace, name) => record(refKey({ kind, namespace, name }), reading(kind, namespace, name)),
    hasEntity: (kind, name) => record(entityNamesKey(kind), finding(kind, name)),
    routeProtocols: (namespace, name) =>
      record(routeProtocolsKey(namespacedName(namespace, name)), readingProtocols(namespace, name)),
    serviceProtocols: (namespace, name) =>
      record(serviceProtocolsKey(namespacedName(namespace, name)), readingServiceProtocols(namespace, name)),
    isReferenceAllowed: (crossing) => record(grantsIntoKey(crossing.to.namespace), allowing(crossing)),
    namespacesOpenTo(namespace) {
      record(grantsFromKey(namespace), opening(namespace));
      return lookups.namespacesOpenTo(namespace);
    },
  });
  return {
    translated,
    dependencies: dependencies.size === 0 ? noDependencies : dependencies,
    isCurrent: currencyCheck(recorded),
  };
}

interface RecordedLookup {
  readonly again: (from: TranslationLookups) => unknown;
  readonly answer: unknown;
}

// Created outside of `translateTracked`, so that these closures, tens of thousands of them, retain only arguments.
const resolving =
  (...of: Parameters<TranslationLookups["resolve"]>) =>
  (from: TranslationLookups) =>
    from.resolve(...of);
const reading =
  (...of: Parameters<TranslationLookups["read"]>) =>
  (from: TranslationLookups) =>
    from.read(...of);
const finding =
  (...of: Parameters<NonNullable<TranslationLookups["hasEntity"]>>) =>
  (from: TranslationLookups) =>
    from.hasEntity?.(...of) !== false;
const readingProtocols =
  (...of: Parameters<NonNullable<TranslationLookups["routeProtocols"]>>) =>
  (from: TranslationLookups) =>
    from.routeProtocols?.(...of);
const readingServiceProtocols =
  (...of: Parameters<NonNullable<TranslationLookups["serviceProtocols"]>>) =>
  (from: TranslationLookups) =>
    from.serviceProtocols?.(...of);
const allowing = (crossing: CrossNamespaceReference) => (from: TranslationLookups) => from.isReferenceAllowed(crossing);
const opening = (namespace: string) => (from: TranslationLookups) => from.namespacesOpenTo(namespace).join();

const always = () => true;

const currencyCheck = (recorded: readonly RecordedLookup[]): TrackedTranslation["isCurrent"] =>
  recorded.length === 0 ? always : (from) => recorded.every(({ again, answer }) => again(from) === answer);
