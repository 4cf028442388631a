/** Counts the users of entities by fleet: an entity is needed in the fleets in which it has a user. */

/** The names of fleets. */
export type Fleets = ReadonlySet<string>;

const none: Fleets = new Set();

interface Use {
  readonly fleets: Fleets;
  readonly used: readonly string[];
}

export function createFleetCounts() {
  const uses = new Map<string, Use>();
  /** The number of users by fleet, by the entity that they use. */
  const counts = new Map<string, Map<string, number>>();

  function count({ fleets, used }: Use, step: 1 | -1): void {
    for (const entity of used) {
      const byFleet = counts.getOrInsertComputed(entity, () => new Map<string, number>());
      for (const fleet of fleets) {
        const number = (byFleet.get(fleet) ?? 0) + step;
        if (number === 0) byFleet.delete(fleet);
        else byFleet.set(fleet, number);
      }
      if (byFleet.size === 0) counts.delete(entity);
    }
  }

  return {
    /** Replaces what a user uses, and the fleets in which the user is. Returns the entities whose users have changed. */
    set(user: string, use: Use): readonly string[] {
      const before = uses.get(user);
      if (before) count(before, -1);
      count(use, 1);
      if (use.used.length === 0) uses.delete(user);
      else uses.set(user, use);
      return [...(before?.used ?? []), ...use.used];
    },
    fleetsOf: (entity: string): Fleets => new Set(counts.get(entity)?.keys() ?? none),
  };
}

export type FleetCounts = ReturnType<typeof createFleetCounts>;
