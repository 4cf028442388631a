/** An entity's references in the form of the resource, and the namespace that they require. */
import { type NameRef, type ResourceKind, targetMembers, type Violation } from "@sluice/model";
import type { Resource } from "../../resource.ts";
import { type ChildList, referenceLists, singleReferences } from "../kind-tables.ts";

/** The namespace and name of a resource. */
export interface ResourceLocation {
  readonly namespace: string;
  readonly name: string;
}

export interface WriteReferencesOptions {
  /** The namespace of a new resource that refers to no other resource: the home namespace. */
  readonly namespace: string;
  /** The resource of an entity; undefined when there is none. */
  readonly locate: (kind: ResourceKind, id: string) => ResourceLocation | undefined;
  /** The previous resource: its name stays, and so do members that no entity has (backendRefs, configFrom, class). */
  readonly previous?: Resource;
}

interface WrittenReferences {
  readonly spec: Readonly<Record<string, unknown>>;
  /** The namespace of `previous`, or else of the referenced resource, or else `namespace` of the options. */
  readonly namespace: string;
  readonly violations: readonly Violation[];
}

type Members = Readonly<Record<string, unknown>>;

export function writeReferences(of: ResourceKind, entity: object, options: WriteReferencesOptions): WrittenReferences {
  const found = referencesOf(of, entity as Members).map((reference) => {
    return { ...reference, place: options.locate(reference.kind, reference.id) };
  });
  const namespace =
    options.previous?.metadata.namespace ??
    found.map(({ place }) => place?.namespace).find((name) => name !== undefined) ??
    options.namespace;
  const violations = found.flatMap(({ kind, member, place }): Violation[] => {
    if (place?.namespace === namespace || (place && wasReferredTo(options.previous, { kind, place }))) return [];
    return [{ path: [member], message: unreachable(kind, place, namespace) }];
  });
  const refs = found.map(({ kind, member, place }) => ({
    member,
    ref: {
      ...(of === "Plugin" && { kind }),
      name: place?.name ?? "",
      ...(place && place.namespace !== namespace && { namespace: place.namespace }),
    },
  }));
  return { spec: specOf(of, entity as Members, refs), namespace, violations };
}

/**
 * The members by which the entry of a child refers to another resource. A reference to another namespace is kept if the
 * previous entry has it; otherwise it is a violation.
 */
export function writeEntryReference(
  { reference }: ChildList,
  child: object,
  { namespace, locate, before }: Pick<WriteReferencesOptions, "namespace" | "locate"> & { readonly before: unknown },
): { readonly members: object; readonly violations: readonly Violation[] } {
  const given: unknown = reference && Reflect.get(child, reference.member);
  if (!reference || given === null) return { members: {}, violations: [] };
  const { kind, member, ref } = reference;
  const place = locate(kind, Object(given).id);
  const crosses = place && place.namespace !== namespace;
  const named: NameRef = { name: place?.name ?? "", ...(crosses && { namespace: place.namespace }) };
  const members = ref === null ? named : { [ref]: named };
  const old = Object(ref === null ? before : Object(before)[ref]);
  if (place && (!crosses || (old.name === place.name && old.namespace === place.namespace)))
    return { members, violations: [] };
  return { members, violations: [{ path: [member], message: unreachable(kind, place, namespace) }] };
}

const unreachable = (kind: ResourceKind, place: ResourceLocation | undefined, namespace: string): string =>
  place
    ? `the ${kind} is in the namespace ${place.namespace}, but this resource must be in ${namespace}`
    : `there is no resource for this ${kind}`;

/** Whether a cross-namespace reference exists already. If so, it stays; the operator decides whether it is allowed. */
function wasReferredTo(
  previous: Resource | undefined,
  { kind, place }: { readonly kind: ResourceKind; readonly place: ResourceLocation },
): boolean {
  const { serviceRef, clientCertificateRef, caCertificateRefs, targetRefs } = previous?.spec ?? {};
  const refs: readonly unknown[] = [
    kind === "Service" && serviceRef,
    kind === "Certificate" && clientCertificateRef,
    ...(kind === "CACertificate" && Array.isArray(caCertificateRefs) ? caCertificateRefs : []),
    ...(Array.isArray(targetRefs) ? targetRefs.filter((ref) => Object(ref).kind === kind) : []),
  ];
  return refs.some((ref) => Object(ref).name === place.name && Object(ref).namespace === place.namespace);
}

interface WrittenReference {
  readonly member: string;
  readonly ref: NameRef;
}

function specOf(of: ResourceKind, entity: Members, written: readonly WrittenReference[]): Members {
  const [single, list] = [singleReferences[of], referenceLists[of]];
  const refsOf = (name: string) => written.filter(({ member }) => member === name).map(({ ref }) => ref);
  const [one] = single ? refsOf(single.member) : [];
  return {
    ...(single && one && { [single.ref]: one }),
    ...(list && Array.isArray(entity[list.member]) && { [list.ref]: refsOf(list.member) }),
    ...(of === "Plugin" && written.length > 0 && { targetRefs: written.map(({ ref }) => ref) }),
  };
}

interface Reference {
  readonly kind: ResourceKind;
  readonly member: string;
  readonly id: string;
}

function referencesOf(of: ResourceKind, entity: Members): readonly Reference[] {
  const [single, list] = [singleReferences[of], referenceLists[of]];
  const targets = of === "Plugin" ? Object.entries(targetMembers) : [];
  const members = single ? [[single.kind, single.member] as const] : targets;
  const listed = (list && (entity[list.member] as readonly string[] | null)) ?? [];
  return [
    ...members.flatMap(([kind, member]): Reference[] => {
      const { id } = Object(entity[member]) as { id?: unknown };
      return typeof id === "string" ? [{ kind: kind as ResourceKind, member, id }] : [];
    }),
    ...(list ? listed.map((id): Reference => ({ kind: list.kind, member: list.member, id })) : []),
  ];
}
