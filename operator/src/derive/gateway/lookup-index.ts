/** Which resources have to be derived again when other resources change: those that looked them up. */

export function createLookupIndex() {
  /** By the key that was looked up. */
  const users = new Map<string, Set<string>>();
  const lookupsOf = new Map<string, ReadonlySet<string>>();

  return {
    /** Replaces the lookups of a user. */
    set(user: string, lookups: ReadonlySet<string>): void {
      for (const key of lookupsOf.get(user) ?? []) {
        const known = users.get(key);
        known?.delete(user);
        if (known?.size === 0) users.delete(key);
      }
      for (const key of lookups) users.set(key, (users.get(key) ?? new Set()).add(user));
      if (lookups.size > 0) lookupsOf.set(user, lookups);
      else lookupsOf.delete(user);
    },
    /** The users that looked up the key, whether or not anything with this key exists. */
    usersOf: (key: string): Iterable<string> => users.get(key) ?? [],
  };
}
