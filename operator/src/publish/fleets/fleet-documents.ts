/**
 * Splits the document among the fleets: each fleet gets only the entities that its nodes need. A change of entities of
 * one fleet leaves the documents of the others as they are.
 */
import {
  adoptChange,
  bucketDifferences,
  type Change,
  type Collection,
  type DocumentListener,
  type EndpointSection,
  emptySnapshot,
  endpointSections,
  SHARED_FLEET,
  type Snapshot,
} from "@sluice/model";
import type { Fleets } from "./fleet-counts.ts";
import { createPlacement, includesFleet, namedFleets, type PlacedSection } from "./placement.ts";

/** The documents by the name of the fleet. */
export type FleetDocuments = ReadonlyMap<string, Snapshot>;

const sections = Object.keys(endpointSections) as readonly EndpointSection[];

export function createFleetDocuments() {
  let split: ReturnType<typeof createSplit> | null = null;
  return {
    /** The documents of all fleets. Without a listener for other fleets, the shared fleet has the snapshot itself. */
    update(snapshot: Snapshot): FleetDocuments {
      const fleets = fleetsIn(snapshot);
      if (fleets.size === 1) {
        split = null;
        return new Map([[SHARED_FLEET, snapshot]]);
      }
      split ??= createSplit();
      return split.update(snapshot, fleets);
    },
  };
}

const fleetsIn = ({ listeners }: Snapshot): Fleets =>
  new Set([SHARED_FLEET, ...[...listeners.values()].flatMap(({ fleets = [] }) => fleets)]);

function createSplit() {
  const placement = createPlacement();
  let previous = emptySnapshot;
  let documents: FleetDocuments = new Map();

  /** @param fleets The names of all fleets of the snapshot. */
  function update(snapshot: Snapshot, fleets: Fleets): FleetDocuments {
    const drafts = new Map<string, DraftChange>();
    const draftOf = (fleet: string) => drafts.getOrInsertComputed(fleet, () => new DraftChange());
    const moves = placement.update(previous, snapshot);
    for (const [section, entries] of moves)
      for (const [key, before] of entries) {
        const after = placement.fleetsOf(section, key);
        for (const fleet of namedFleets(after, fleets)) draftOf(fleet).put(section, { key, snapshot });
        for (const fleet of namedFleets(before, fleets))
          if (!includesFleet(after, fleet)) draftOf(fleet).remove(section, key);
      }
    for (const section of sections)
      for (const { key } of bucketDifferences<object>(previous[section], snapshot[section])) {
        const owners = placement.fleetsOf(endpointSections[section], key);
        for (const fleet of namedFleets(owners, fleets)) draftOf(fleet).putAddresses(section, { key, snapshot });
      }
    // Only now are all entries placed.
    const added = fleets.difference(new Set(documents.keys()));
    for (const fleet of added) drafts.set(fleet, new DraftChange());
    if (added.size > 0) addWhole(snapshot, added, draftOf);
    documents = new Map(
      Array.from(fleets, (fleet) => {
        const document = documents.get(fleet) ?? emptySnapshot;
        return [fleet, drafts.get(fleet)?.applyTo(document) ?? document];
      }),
    );
    previous = snapshot;
    return documents;
  }

  /** Adds all entries of new fleets, in one pass for all of them. */
  function addWhole(snapshot: Snapshot, added: Fleets, draftOf: (fleet: string) => DraftChange): void {
    for (const [section, fleetsOf] of placement.entries())
      for (const [key, fleets] of fleetsOf)
        for (const fleet of namedFleets(fleets, added))
          if (added.has(fleet)) draftOf(fleet).put(section, { key, snapshot });
  }

  return { update };
}

interface Entry {
  readonly key: string;
  readonly snapshot: Snapshot;
}

/** The change of the document of one fleet. */
class DraftChange {
  readonly #put = new Map<Collection, object[]>();
  readonly #remove = new Map<Collection, string[]>();
  readonly #listeners = new Map<string, DocumentListener | null>();
  readonly #addresses = new Map<EndpointSection, Map<string, object | null>>();

  /** Adds or replaces an entry, with its addresses. */
  put(section: PlacedSection, { key, snapshot }: Entry): void {
    if (section === "listeners") {
      this.#listeners.set(key, snapshot.listeners.get(key) ?? null);
      return;
    }
    const entity = snapshot[section].get(key);
    if (entity === undefined) return;
    this.#put.getOrInsertComputed(section, () => []).push(entity);
    for (const addresses of sections)
      if (endpointSections[addresses] === section) this.putAddresses(addresses, { key, snapshot });
  }

  remove(section: PlacedSection, key: string): void {
    if (section === "listeners") this.#listeners.set(key, null);
    else this.#remove.getOrInsertComputed(section, () => []).push(key);
  }

  putAddresses(section: EndpointSection, { key, snapshot }: Entry): void {
    this.#addresses.getOrInsertComputed(section, () => new Map()).set(key, snapshot[section].get(key) ?? null);
  }

  applyTo(document: Snapshot): Snapshot {
    const addresses = [...this.#addresses].map(([section, lists]) => [section, Object.fromEntries(lists)]);
    const change = {
      put: Object.fromEntries(this.#put),
      remove: Object.fromEntries(this.#remove),
      listeners: Object.fromEntries(this.#listeners),
      ...Object.fromEntries(addresses),
    } satisfies Change;
    return adoptChange(document, change);
  }
}
