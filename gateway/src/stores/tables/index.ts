/** Tables of entities in memory, for the stores that have no database. */
export { claimKey, claimOf, entityClaimKeys, faultyClaimKeys } from "./claims.ts";
export { findInTables, listFromTables } from "./read.ts";
export { createTables, MapDraft, type PlacedEntity, type Tables, TablesDraft } from "./tables.ts";
export { applyWrite, type TableWriteResult } from "./write.ts";
