/** The groups of each consumer: the plugins of these groups run for the consumer's requests. */
import type { ConsumerGroup, SnapshotCredential } from "@sluice/model/serving";
import type { GroupIndex } from "./group-index.ts";

type Memberships = GroupIndex<SnapshotCredential<"consumer_group_consumers">>;

export interface GroupsOfConsumer {
  /**
   * The ids of the consumer's groups, sorted by the names of the groups: if several groups have the same plugin, the
   * instance of the first group runs.
   */
  readonly ids: readonly string[];
  /** Equal for consumers that belong to the same groups. */
  readonly key: string;
}

export class ConsumerGroups {
  /** The memberships by consumer. */
  readonly #memberships: Memberships;
  readonly #groups: ReadonlyMap<string, ConsumerGroup>;
  readonly #known = new WeakMap<object, GroupsOfConsumer>();

  constructor(memberships: Memberships, groups: ReadonlyMap<string, ConsumerGroup>) {
    this.#memberships = memberships;
    this.#groups = groups;
  }

  isOf(memberships: Memberships, groups: ReadonlyMap<string, ConsumerGroup>): boolean {
    return memberships === this.#memberships && groups === this.#groups;
  }

  /** Null: the consumer belongs to no group. */
  of(consumerId: string): GroupsOfConsumer | null {
    const memberships = this.#memberships.of(consumerId);
    return memberships.length === 0
      ? null
      : this.#known.getOrInsertComputed(memberships, () => this.#sort(memberships));
  }

  #sort(memberships: ReturnType<Memberships["of"]>): GroupsOfConsumer {
    const nameOf = (id: string) => this.#groups.get(id)?.name ?? "";
    const ids = memberships
      .map(({ consumer_group: { id } }) => id)
      .sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
    return { ids, key: ids.join(" ") };
  }
}
