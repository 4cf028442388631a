/** Resources in groups, updated one resource at a time: a resource is in at most one group, with a value. */
import { type Resource, resourceKey } from "@sluice/crds";

export interface GroupMember<Value> {
  readonly group: string;
  readonly value: Value;
}

export class ResourceGroups<Value> {
  readonly #memberOf: (resource: Resource) => GroupMember<Value> | undefined;
  /** The values by group and resource. */
  readonly #groups = new Map<string, Map<string, Value>>();
  /** The group of each resource. */
  readonly #groupOf = new Map<string, string>();

  /** @param memberOf Undefined: the resource is in no group. */
  constructor(all: Iterable<Resource>, memberOf: (resource: Resource) => GroupMember<Value> | undefined) {
    this.#memberOf = memberOf;
    for (const resource of all) this.#enter(resourceKey(resource), resource);
  }

  /** The values of a group, unordered; undefined: it has none. */
  of(group: string): Iterable<Value> | undefined {
    return this.#groups.get(group)?.values();
  }

  /**
   * Updates a resource (`namespace/name`); undefined: it was deleted. Returns the groups that it belonged or belongs to.
   */
  set(key: string, resource: Resource | undefined): readonly string[] {
    const affected = [this.#leave(key), resource && this.#enter(key, resource)];
    return affected.filter((group) => group !== undefined);
  }

  #leave(key: string): string | undefined {
    const group = this.#groupOf.get(key);
    if (group === undefined) return undefined;
    this.#groupOf.delete(key);
    const members = this.#groups.get(group);
    members?.delete(key);
    if (members?.size === 0) this.#groups.delete(group);
    return group;
  }

  #enter(key: string, resource: Resource): string | undefined {
    const member = this.#memberOf(resource);
    if (member === undefined) return undefined;
    this.#groupOf.set(key, member.group);
    this.#groups.getOrInsertComputed(member.group, () => new Map()).set(key, member.value);
    return member.group;
  }
}
