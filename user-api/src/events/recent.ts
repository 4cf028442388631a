/** The ids that were told of lately: a replica hears of its own users again, and what was missed is read generously. */

export interface Recent {
  /** Whether the id is new; it is not from then on. */
  add(id: string): boolean;
}

/** Remembers so many. */
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
