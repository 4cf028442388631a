/** Translates a custom resource to its entities. Pure: other resources are looked up through the options. */
import { type CertificateSpec, kindFacts, type NameRef, type ResourceKind, readSpec } from "@sluice/model";
import type { DerivedResource } from "../../derive/derived-resource.ts";
import type { Resource } from "../../resource.ts";
import { identityOf, qualifiedName } from "../identity.ts";
import { childLists, namedKinds, referenceLists, singleReferences } from "../kind-tables.ts";
import { referencePart } from "../resolve-reference.ts";
import { createdAt, creationTimeOf, updatedAt } from "../timestamps.ts";
import { readCertificate, readOrderedCertificate } from "../tls-secrets.ts";
import type { TranslatedEntity, TranslateOptions } from "../translation.ts";
import { childEntities } from "./child-entities.ts";
import { type EntityPart, entityOf, invalidField, type TranslatorInput } from "./entity-part.ts";
import { namespacedNameParts } from "./namespaced-name.ts";
import { pluginParts } from "./plugin.ts";
import { serviceParts } from "./service.ts";
import { backendTargets, upstreamParts } from "./upstream.ts";

/** The parts of an entity that are translated differently for each kind. */
const ownParts: Readonly<Record<ResourceKind, (input: TranslatorInput) => readonly EntityPart[]>> = {
  Certificate: certificateParts,
  CACertificate: namespaceParts,
  Upstream: (input) => [...upstreamParts(input), ...extrasParts(input)],
  Service: serviceAndExtrasParts,
  Route: routeParts,
  Plugin: pluginAndRequiredParts,
  ConsumerGroup: () => [],
  Consumer: () => [],
  Vault: vaultParts,
  // Configs of the plugin graphql name the documents.
  GraphQLDocuments: namespacedNameParts,
};

/**
 * The resource's entity, followed by nested ones: credentials, targets, SNIs. Items with violations are included for
 * callers that need the intended entity of a faulty resource; they must not be served.
 *
 * @throws TypeError for a resource of a kind that is not Sluice's.
 */
export function toEntities(resource: Resource, lookups: TranslateOptions): readonly TranslatedEntity[] {
  const { checkedReferences } = derivedOf(resource);
  const options = checkedReferences ? withCheckedReferences(lookups, checkedReferences) : lookups;
  const identity = identityOf(resource, options.homeNamespace);
  const { kind, collection, id } = identity;
  const { violations, ...read } = readSpec(kindFacts[kind].spec, resource.spec ?? {});
  const { metadata } = resource;
  // Among routes that match the same requests, the older takes precedence. For nodes, only the creationTimestamp
  // decides the age.
  const created_at = (options.audience === "nodes" ? creationTimeOf(metadata) : undefined) ?? createdAt(metadata);
  const input: TranslatorInput = {
    ...read,
    resource,
    identity,
    from: { kind, namespace: metadata.namespace },
    times: { created_at, updated_at: updatedAt(metadata) },
    violations: violations.map(({ path, message }) => invalidField(["spec", ...path], message)),
    options,
  };
  const entity = entityOf({ collection, id, basePath: ["spec"] }, [
    { members: { ...input.times, ...input.members }, violations: ownViolations(input) },
    ...(namedKinds.has(kind) ? [namePart(input)] : []),
    ...singleReferenceParts(input),
    ...referenceListParts(input),
    ...ownParts[kind](input),
  ]);
  return [entity, ...childEntities(input), ...backendTargets(input)];
}

const withCheckedReferences = (
  lookups: TranslateOptions,
  checked: NonNullable<DerivedResource["derived"]["checkedReferences"]>,
): TranslateOptions => ({
  ...lookups,
  isReferenceAllowed: (crossing) => checked.includes(crossing.to.kind) || lookups.isReferenceAllowed(crossing),
});

/**
 * The resource's violations, without those inside the entries of a list of children, and without those for which the
 * check of the entity has a better message.
 */
function ownViolations({ identity: { kind }, resource, violations }: TranslatorInput): EntityPart["violations"] {
  const lists: readonly unknown[] = childLists[kind].map(({ list }) => list);
  // The check suggests the intended name of an unknown plugin.
  const isPluginNamed = kind === "Plugin" && typeof resource.spec?.plugin === "string";
  return violations.filter(
    ({ path }) => !(path.length > 2 && lists.includes(path[1])) && !(isPluginNamed && path.join(".") === "spec.plugin"),
  );
}

/** An empty `spec.name` means that the entity has no name. */
function namePart({ own, resource, options }: TranslatorInput): EntityPart {
  const given = typeof own.name === "string" ? own.name : undefined;
  return {
    members: { name: given === "" ? null : (given ?? qualifiedName(resource, options.homeNamespace)) },
    sourcePaths: { name: given === undefined ? ["metadata", "name"] : ["spec", "name"] },
  };
}

function singleReferenceParts({ own, from, options }: TranslatorInput): readonly EntityPart[] {
  const single = singleReferences[from.kind];
  const ref = single && (own[single.ref] as NameRef | undefined);
  if (!ref) return [];
  const { kind, member } = single;
  const path = ["spec", single.ref];
  const part = referencePart({ kind, member, ref }, { from, path }, options);
  return [{ ...part, sourcePaths: { [member]: [...path, "name"] } }];
}

/** An unresolved reference has a violation, so that the entity is not served with fewer CA certificates. */
function referenceListParts({ own, from, options }: TranslatorInput): readonly EntityPart[] {
  const list = referenceLists[from.kind];
  const refs = list && (own[list.ref] as readonly NameRef[] | undefined);
  if (!refs) return [];
  const { kind, member } = list;
  const path = ["spec", list.ref];
  const parts = refs.map((ref, index) =>
    referencePart({ kind, member, ref }, { from, path: [...path, index] }, options),
  );
  const ids = parts.flatMap(({ members }) => members[member]?.id ?? []);
  return [
    {
      members: { [member]: ids },
      violations: parts.flatMap(({ violations }) => violations),
      references: parts.flatMap(({ references }) => references),
      sourcePaths: { [member]: path },
    },
  ];
}

/** For nodes, the internal member `_sluice` has the namespace of the resource. */
function namespaceParts({ from: { namespace }, options }: TranslatorInput): readonly EntityPart[] {
  return options.audience === "nodes" ? [{ members: { _sluice: { namespace } } }] : [];
}

/** What a resource of another API gives to a resource that is derived from it. */
const derivedOf = (resource: Resource): Partial<DerivedResource["derived"]> =>
  (resource as Partial<DerivedResource>).derived ?? {};

function routeParts({ from: { namespace }, resource, options }: TranslatorInput): readonly EntityPart[] {
  if (options.audience !== "nodes") return [];
  const { extras, fault } = derivedOf(resource);
  const violations: EntityPart["violations"] =
    fault === undefined
      ? []
      : [{ path: [], message: fault, condition: "Accepted", reason: "NotAllowed", isPartial: true }];
  return [{ members: { _sluice: { namespace, ...extras } }, violations }];
}

function serviceAndExtrasParts(input: TranslatorInput): readonly EntityPart[] {
  return [...serviceParts(input), ...extrasParts(input)];
}

/** The Services that a derived Plugin requires are references without a member: only the config names them. */
function pluginAndRequiredParts(input: TranslatorInput): readonly EntityPart[] {
  const { from, options } = input;
  const { requiredServices = [] } = derivedOf(input.resource);
  const required = requiredServices.map((name): EntityPart => {
    const request = { kind: "Service", member: "service", ref: { name } } as const;
    const { violations, references } = referencePart(request, { from, path: ["spec", "config"] }, options);
    return { violations, references };
  });
  return [...pluginParts(input), ...required, ...extrasParts(input)];
}

/** For nodes, a derived resource may have members of `_sluice`. */
function extrasParts({ resource, options }: TranslatorInput): readonly EntityPart[] {
  const extras = options.audience === "nodes" ? derivedOf(resource).extras : undefined;
  return extras ? [{ members: { _sluice: extras } }] : [];
}

function certificateParts(input: TranslatorInput): readonly EntityPart[] {
  const { own, from, resource, options } = input;
  const { secretRef } = own as Partial<CertificateSpec>;
  const path = ["spec", "secretRef"];
  const place = [...path, "name"];
  const found = secretRef && readCertificate(secretRef, { from, path }, options);
  const ordered =
    resource.spec?.acme === undefined ? {} : { members: readOrderedCertificate(resource.metadata, options) };
  const part = { ...ordered, ...found, sourcePaths: { cert: place, key: place, cert_alt: place, key_alt: place } };
  return [part, { violations: sourceViolations(input) }, ...extrasParts(input)];
}

/** The rule of the CRD, which a directory does not enforce. */
function sourceViolations({ own: { secretRef }, members: { acme }, resource }: TranslatorInput) {
  if (resource.spec?.secretRef === undefined && !acme)
    return [invalidField(["spec", "secretRef"], "required field missing")];
  return secretRef && acme ? [invalidField(["spec"], "set exactly one of secretRef and acme")] : [];
}

/** Plugins of all namespaces may refer to a vault by its prefix. Therefore only the home namespace may define one. */
function vaultParts({ own: { backend }, from: { namespace }, options }: TranslatorInput): readonly EntityPart[] {
  const { homeNamespace } = options;
  const message = `a Vault is only allowed in the namespace ${homeNamespace}: plugins of all namespaces may refer to it`;
  return [
    {
      members: { name: backend },
      sourcePaths: { name: ["spec", "backend"] },
      violations:
        namespace === homeNamespace
          ? []
          : [{ path: ["metadata", "namespace"], message, condition: "Accepted", reason: "NotAllowed" }],
    },
  ];
}
