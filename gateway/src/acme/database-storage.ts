/** Keeps accounts, states and certificates of orders in the database. All nodes read the challenges from there. */
import type { AcmeAccount, AcmeState, AcmeStorage } from "@sluice/acme";
import type { Certificate } from "@sluice/model";
import type { SharedDatabase } from "../stores/database/open-store.ts";
import { etagOf } from "../stores/etag.ts";
import {
  readAcmeAccount,
  readAcmeState,
  writeAcmeAccount,
  writeAcmeChallenges,
  writeAcmeOrder,
} from "./order-tables.ts";

/** The author of revisions with new certificates. */
const AUTHOR = "sluice (ACME)";
/** Milliseconds in which all nodes must serve new challenges. */
const NODES_TIMEOUT = 30_000;

export type AcmeDatabase = Pick<SharedDatabase, "database" | "store" | "awaitRevision">;

export function createDatabaseStorage({ database, store, awaitRevision }: AcmeDatabase): AcmeStorage {
  return {
    account: (directory): Promise<AcmeAccount | null> => readAcmeAccount(database, directory),
    putAccount: (directory, account) => writeAcmeAccount(database, directory, account),
    state: async (id) => (await readAcmeState(database, id)) as AcmeState | null,
    putState: (id, state) => writeAcmeOrder(database, id, { column: "state", value: state }),

    async putCertificate(id, pair) {
      const before = (await store.find("certificates", { id })) as Certificate | null;
      // Removed meanwhile, or no longer ordered by Sluice.
      if (before === null || before.acme === null) return;
      const entity = { ...before, ...pair, updated_at: Math.floor(Date.now() / 1000) };
      const write = { op: "replace", collection: "certificates", entity, etag: etagOf(before) } as const;
      const { fault } = await store.write([write], { author: AUTHOR });
      if (fault !== undefined) throw new Error(`the certificate ${id} cannot be stored: ${JSON.stringify(fault)}`);
    },

    async publishChallenges(id, challenges) {
      const revision = await writeAcmeChallenges(database, id, challenges);
      if (challenges.length === 0) return;
      const answer = await awaitRevision(revision, NODES_TIMEOUT);
      if (answer?.programmed === true) return;
      const lagging = answer === null ? "the nodes cannot be read" : `waiting for ${answer.lagging.join(", ")}`;
      throw new Error(`not all nodes answer the challenges after ${NODES_TIMEOUT / 1000} s: ${lagging}`);
    },
  };
}
