/** Collects the result of a conversion: entities of Kong with their sources, finished resources, and remarks. */
import {
  identityOf,
  kindOfCollection,
  type ManifestObject,
  type Path,
  type Resource,
  type ResourceCollection,
} from "@sluice/crds";
import { apiVersion, type Collection, collections, derivedIdOf } from "@sluice/model";
import { annotationsAt, namespaceOf } from "./objects.ts";

type Members = Readonly<Record<string, unknown>>;

/** A field of an object; an empty path is the whole object. */
export interface ObjectField {
  readonly object: ManifestObject;
  readonly path: Path;
}

/** The custom resource that an entity becomes. */
export interface Placement {
  readonly namespace: string;
  readonly name: string;
  /** Members of the spec that the entity does not have, such as `backendRef`. */
  readonly spec: Members;
  /** Members of the entity that are read from Secrets instead. */
  readonly hidden: readonly Path[];
}

export interface ConvertedEntity {
  readonly collection: Collection;
  readonly id: string;
  readonly members: Members;
  readonly object: ManifestObject;
  /** Where the object has the members of the entity. Messages about other members name the object only. */
  readonly paths: Readonly<Record<string, Path>>;
  /** Null for an entity that is an entry in the resource of its parent. */
  readonly placement: Placement | null;
  /** Why the entity stands for something that cannot be converted. It replaces the message about the entity. */
  readonly reason: string | null;
}

export interface Remark extends ObjectField {
  readonly message: string;
}

/** Something of an object that is not converted. */
export interface Omission extends Remark {
  readonly consequence: string;
}

interface NewEntity extends Pick<ConvertedEntity, "object"> {
  readonly paths?: ConvertedEntity["paths"];
  /** Absent for entries. */
  readonly name?: string;
  /** Default: the namespace of the object. */
  readonly namespace?: string;
  readonly spec?: Members;
  readonly hidden?: readonly Path[];
  readonly reason?: string;
}

export interface Scope {
  readonly route?: string;
  readonly service?: string;
}

export class Conversion {
  readonly homeNamespace: string;
  readonly entities: ConvertedEntity[] = [];
  /** Resources that need no check: Ingresses, Secrets, Certificates, ReferenceGrants. */
  readonly resources: { readonly resource: Resource; readonly object: ManifestObject }[] = [];
  readonly remarks: Remark[] = [];
  readonly omissions: Omission[] = [];
  /** The objects that Kong's controller reads. */
  readonly objects = new Set<ManifestObject>();
  readonly #names = new Set<string>();

  constructor(homeNamespace: string) {
    this.homeNamespace = homeNamespace;
  }

  /** The wanted name; with a number at its end if another resource of the kind has this name in the namespace. */
  nameFor(kind: string, namespace: string, wanted: string): string {
    for (let number = 1; ; number++) {
      const name = number === 1 ? wanted : `${wanted}-${number}`;
      const key = `${kind} ${namespace}/${name}`;
      if (this.#names.has(key)) continue;
      this.#names.add(key);
      return name;
    }
  }

  /** The name of the entity of a resource without `spec.name`. */
  entityName(namespace: string, name: string): string {
    return namespace === this.homeNamespace ? name : `${namespace}.${name}`;
  }

  /** Adds an entity that becomes a resource. Returns the id. */
  add(collection: ResourceCollection, members: Members, entity: NewEntity & { readonly name: string }): string {
    const { object, name, namespace = namespaceOf(object), paths = {}, spec = {}, hidden = [], reason } = entity;
    const kind = kindOfCollection(collection);
    const { username, instance_name: instanceName, prefix } = members;
    const named = collection === "consumer_groups" ? { name: members.name } : {};
    const naming = { ...named, username, instanceName, prefix, ...(members.id !== undefined && { id: members.id }) };
    const { id } = identityOf({ apiVersion, kind, metadata: { name, namespace }, spec: naming }, this.homeNamespace);
    this.entities.push({
      collection,
      id,
      members: { ...members, id },
      object,
      paths,
      placement: { namespace, name, spec, hidden },
      reason: reason ?? null,
    });
    return id;
  }

  /** Adds an entity that is an entry in the resource of its parent. */
  addEntry(collection: Collection, members: Members & { readonly id: string }, entity: Omit<NewEntity, "name">): void {
    const { object, paths = {}, reason } = entity;
    const { id } = members;
    this.entities.push({ collection, id, members, object, paths, placement: null, reason: reason ?? null });
  }

  addTarget(members: Members, object: ManifestObject): void {
    this.addEntry("targets", { ...members, id: derivedIdOf("targets", members) }, { object });
  }

  /** Has the requests of a route or service answered 503, by a plugin that does not exist: its name says why. */
  close(scope: Scope, { object, path, message }: Remark, what: string): void {
    const target = this.entities.find(({ id }) => id === (scope.route ?? scope.service))?.placement;
    const namespace = target?.namespace ?? namespaceOf(object);
    const references = Object.entries(scope).map(([member, id]) => [member, { id }]);
    this.add(
      "plugins",
      { name: `unavailable-${what}`, ...Object.fromEntries(references) },
      {
        object,
        paths: { name: path },
        namespace,
        name: this.nameFor("Plugin", namespace, `${target?.name ?? object.metadata.name}-unavailable-${what}`),
        reason: message,
      },
    );
  }

  remark(field: ObjectField, message: string): void {
    this.remarks.push({ ...field, message });
  }

  omit(field: ObjectField, message: string, consequence = "left out"): void {
    this.omissions.push({ ...field, message, consequence });
  }

  addResource(resource: Resource, object: ManifestObject): void {
    this.resources.push({ resource, object });
  }

  /** The entities as a flat document of Kong; `entityAt` finds an entity by its place there. */
  document(): Members {
    const lists = collections.map((name) => [name, this.#of(name).map(({ members }) => members)] as const);
    return { _format_version: "3.0", ...Object.fromEntries(lists.filter(([, list]) => list.length > 0)) };
  }

  entityAt(collection: unknown, index: unknown): ConvertedEntity | undefined {
    return this.#of(collection)[Number(index)];
  }

  #of(collection: unknown): readonly ConvertedEntity[] {
    return this.entities.filter((entity) => entity.collection === collection);
  }
}

export const annotationField = (name: string): Path => ["metadata", "annotations", name];

/** Reads annotations; an invalid value has no effect, as in Kong's controller, and the report has a remark on it. */
export class AnnotationReader {
  readonly #object: ManifestObject;
  readonly #conversion: Conversion;

  constructor(object: ManifestObject, conversion: Conversion) {
    this.#object = object;
    this.#conversion = conversion;
  }

  text(name: string): string | undefined {
    return annotationsAt(this.#object)[`konghq.com/${name}`];
  }

  list(name: string): readonly string[] {
    return (this.text(name) ?? "")
      .split(",")
      .map((item) => item.trim())
      .filter((item) => item !== "");
  }

  boolean(name: string): boolean | undefined {
    const value = this.text(name)?.toLowerCase();
    if (value === undefined || value === "") return undefined;
    return value === "true" || value === "false" ? value === "true" : this.invalid(name);
  }

  integer(name: string): number | undefined {
    const value = this.text(name);
    if (value === undefined || value === "") return undefined;
    return /^[+-]?\d+$/.test(value) ? Number(value) : this.invalid(name);
  }

  invalid(name: string): undefined {
    const field = { object: this.#object, path: annotationField(`konghq.com/${name}`) };
    this.#conversion.remark(field, `the value ${JSON.stringify(this.text(name))} is invalid and ignored, as by Kong`);
  }
}
