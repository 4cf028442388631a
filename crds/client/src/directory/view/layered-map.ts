/** A map with some entries changed, at a cost proportional to the changes: it shares the base map. Pure. */

/** Changes since the large map below was built; undefined: removed. */
type Changes<Value> = ReadonlyMap<string, Value | undefined>;

/** With more changes than this, the large map is rebuilt. */
const MANY = 128;

/** @param changes Entries that are undefined are removed. */
export function withChanges<Value extends object>(
  before: ReadonlyMap<string, Value>,
  changes: Changes<Value>,
): ReadonlyMap<string, Value> {
  const below = before instanceof LayeredMap ? before.below : before;
  const all = new Map(before instanceof LayeredMap ? [...before.above, ...changes] : changes);
  const layers = new LayeredMap<Value>(below, all);
  return all.size > MANY ? new Map(layers) : layers;
}

class LayeredMap<Value extends object> implements ReadonlyMap<string, Value> {
  readonly below: ReadonlyMap<string, Value>;
  readonly above: Changes<Value>;
  readonly size: number;

  constructor(below: ReadonlyMap<string, Value>, above: Changes<Value>) {
    this.below = below;
    this.above = above;
    let size = below.size;
    for (const [key, value] of above) size += Number(value !== undefined) - Number(below.has(key));
    this.size = size;
  }

  get(key: string): Value | undefined {
    return this.above.get(key) ?? (this.above.has(key) ? undefined : this.below.get(key));
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  *entries(): MapIterator<[string, Value]> {
    for (const [key, value] of this.below) if (!this.above.has(key)) yield [key, value];
    for (const [key, value] of this.above) if (value !== undefined) yield [key, value];
  }

  *keys(): MapIterator<string> {
    for (const [key] of this.entries()) yield key;
  }

  *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  forEach(run: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) run(value, key, this);
  }
}
