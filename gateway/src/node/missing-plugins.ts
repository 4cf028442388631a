/** The names of plugins that a node's configuration uses and the node does not have. */
import { bucketDifferences, pluginNamed, type Snapshot, type SnapshotPlugin } from "@sluice/model/serving";

/** Finds missing plugins in each served snapshot, at a cost that depends only on the number of changed plugins. */
export class MissingPlugins {
  #before: Snapshot["plugins"] = new Map();
  /** For each name of a missing plugin, the number of its enabled instances. */
  readonly #counts = new Map<string, number>();
  #names: readonly string[] = [];

  countMissing({ plugins }: Snapshot): void {
    for (const { before, after } of bucketDifferences(this.#before, plugins)) {
      this.#add(before, -1);
      this.#add(after, 1);
    }
    this.#before = plugins;
    this.#names = [...this.#counts.keys()].sort();
  }

  /** Counts again from zero. Must be called when the plugins of the node have changed. */
  recount(snapshot: Snapshot): void {
    this.#before = new Map();
    this.#counts.clear();
    this.countMissing(snapshot);
  }

  /** Sorted. */
  get names(): readonly string[] {
    return this.#names;
  }

  #add(plugin: SnapshotPlugin | undefined, change: 1 | -1): void {
    if (!plugin?.enabled || pluginNamed(plugin.name) !== undefined) return;
    const count = (this.#counts.get(plugin.name) ?? 0) + change;
    if (count > 0) this.#counts.set(plugin.name, count);
    else this.#counts.delete(plugin.name);
  }
}
