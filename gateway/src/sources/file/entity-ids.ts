/** A compact form of lists of entities: the id strings of a hundred thousand entities would use many megabytes. */
import { type Collection, collections } from "@sluice/model/serving";

export interface EntityId {
  readonly collection: Collection;
  /** A UUID in lower case. */
  readonly id: string;
}

/** A unique key for an entity. */
export const idKey = ({ collection, id }: EntityId): string => `${collection}/${id}`;

/** A range of lists: `from` inclusive, `to` exclusive. */
export interface ListRange {
  readonly from: number;
  readonly to: number;
}

/** Bytes per entity: one for the collection and 16 for the UUID. */
const SIZE = 17;

/** The form in which ids are sent between processes. */
export type PackedIds = Pick<EntityIds, "offsets" | "bytes">;

export class EntityIds {
  /** The index of each list's first entity, and the total number of entities at the end. */
  readonly offsets: Uint32Array;
  readonly bytes: Uint8Array;

  constructor({ offsets, bytes }: PackedIds) {
    this.offsets = offsets;
    this.bytes = bytes;
  }

  static of(lists: readonly (readonly EntityId[])[]): EntityIds {
    const offsets = new Uint32Array(lists.length + 1);
    for (const [index, list] of lists.entries()) offsets[index + 1] = (offsets[index] ?? 0) + list.length;
    const bytes = Buffer.alloc((offsets.at(-1) ?? 0) * SIZE);
    let at = 0;
    for (const { collection, id } of lists.flat()) {
      bytes[at] = collections.indexOf(collection);
      bytes.write(id.replaceAll("-", ""), at + 1, "hex");
      at += SIZE;
    }
    return new EntityIds({ offsets, bytes });
  }

  /** The entities of these lists. */
  slice({ from, to }: ListRange): readonly EntityId[] {
    const [start = 0, end = 0] = [this.offsets[from], this.offsets[to]];
    return Array.from({ length: end - start }, (_, index) => this.#at(start + index));
  }

  all(): readonly EntityId[] {
    return this.slice({ from: 0, to: this.offsets.length - 1 });
  }

  /** A copy in which other lists replace this range. */
  replace({ from, to }: ListRange, { offsets, bytes }: EntityIds): EntityIds {
    const [start = 0, end = 0] = [this.offsets[from], this.offsets[to]];
    const added = offsets.at(-1) ?? 0;
    const next = new Uint32Array(this.offsets.length - (to - from) + (offsets.length - 1));
    next.set(this.offsets.subarray(0, from));
    next.set(
      offsets.subarray(0, -1).map((offset) => offset + start),
      from,
    );
    next.set(
      this.offsets.subarray(to).map((offset) => offset - end + start + added),
      from + offsets.length - 1,
    );
    const rest = [this.bytes.subarray(0, start * SIZE), bytes, this.bytes.subarray(end * SIZE)];
    return new EntityIds({ offsets: next, bytes: Buffer.concat(rest) });
  }

  #at(index: number): EntityId {
    const bytes = this.bytes.subarray(index * SIZE, (index + 1) * SIZE);
    const collection = collections[bytes[0] ?? 0] as Collection;
    const hex = Buffer.from(bytes.subarray(1)).toString("hex");
    return { collection, id: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-") };
  }
}
