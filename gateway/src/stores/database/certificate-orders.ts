/** What the process that orders certificates has stored about them (gateway/src/acme). */
import type { AcmeStatus } from "@sluice/model";
import type { Database } from "../../database/driver.ts";

/** By the ids of certificates with `acme`. */
export async function readAcmeStatuses(database: Database): Promise<ReadonlyMap<string, AcmeStatus>> {
  const rows = await database.query(
    `select certificate_id::text as id, status from acme_orders join certificates on certificates.id = certificate_id
      where status is not null and certificates.acme is not null`,
  );
  return new Map(rows.map(({ id, status }) => [String(id), status as AcmeStatus]));
}
