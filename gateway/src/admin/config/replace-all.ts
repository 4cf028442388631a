/** Makes the entities of a store equal to those of a document, or only plans the writes for that. */
import { hash } from "node:crypto";
import { canonicalJson, documentPassword, type Entities, type Entity } from "@sluice/model";
import { adoptIds, writesBetween } from "../../stores/difference.ts";
import { etagOf } from "../../stores/etag.ts";
import { scryptPassword, withHashedPasswords } from "../../stores/passwords.ts";
import { type EntityLists, readAll } from "../../stores/read-all.ts";
import type { Effect, Store, WriteFault } from "../../stores/store.ts";
import { timestampFor } from "../entities/write-operations.ts";
import { performWrites } from "../writes/perform-writes.ts";

export interface ReplaceOptions {
  readonly plan: boolean;
  /** The author of the revision. */
  readonly author: string;
  /** Keeps entities that the document does not contain. */
  readonly keep: boolean;
  /** Also changes fields that other field managers own. */
  readonly force?: boolean;
  /** Hashes new passwords as Kong does without a database (documentPassword). */
  readonly fastHash: boolean;
  /** Whether the writes are prepared again after a concurrent change. Default: they are refused. */
  readonly retry?: boolean;
  /** See `StoreWriteOptions`. */
  readonly whole?: boolean;
}

export const replaceAll = (
  store: Store,
  after: EntityLists,
  { plan, author, keep, force = false, fastHash, retry = false, whole = false }: ReplaceOptions,
) =>
  performWrites(
    store,
    async () => {
      const before = await readAll(store);
      const hashed = await withHashedPasswords(before, adoptIds(before, after), fastHash ? hashOfDocument : slowHash);
      const writes = writesBetween(before, hashed, { now: timestampFor("services"), keep });
      return writes.map((write) => ({
        writes: [write],
        attempt: { verb: write.op === "replace" ? "update" : write.op, collection: write.collection, by: undefined },
        isRetryable: async ({ kind }: WriteFault) => retry && kind === "changed",
      }));
    },
    { plan, force, author, whole: whole && !plan },
  );

/**
 * A fast hash, as in Kong without a database. Kong's ingress controller sends all passwords as plain text at each
 * change, so slow hashes would delay each change.
 */
const hashOfDocument = ({ consumer, password }: Entities["basicauth_credentials"]): string =>
  documentPassword(consumer.id, password);

const slowHash = ({ password }: Entities["basicauth_credentials"]): Promise<string> => scryptPassword(password);

/**
 * Identifies a plan by the document and by the state of the entities that it changes. Times, and hashes of passwords,
 * which have a random salt, differ between two computations of the same plan and are left out.
 */
export function planIdOf(document: EntityLists, effects: readonly Effect[]): string {
  const states = effects.map(({ collection, before, after }) => [
    collection,
    before && etagOf(before),
    after && etagOf(withoutVarying(after)),
  ]);
  return hash("sha256", canonicalJson([document, states.map((state) => state.join(" ")).toSorted()]));
}

function withoutVarying(entity: Entity): Entity {
  const { created_at: _created, updated_at: _updated, password: _password, ...members } = Object(entity);
  return members;
}
