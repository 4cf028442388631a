/** The ids that were delivered lately. A replica receives its own messages too, and repair reads overlap. */

export interface Recent {
  /** Whether the id is new. Adds it. */
  add(id: string): boolean;
}

/** Remembers `size` ids. */
export function makeRecent(size: number): Recent {
  const ids = new Set<string>();
  return {
    add(id) {
      if (ids.has(id)) return false;
      const [oldest] = ids.size >= size ? ids : [];
      if (oldest !== undefined) ids.delete(oldest);
      ids.add(id);
      return true;
    },
  };
}
