/** The tables of orders from CAs (ACME). Their JSON is that of @sluice/acme. */
import type { AcmeChallenge } from "@sluice/model";
import type { Database } from "../database/driver.ts";

/** Seconds after which the process that orders loses its right to do so, unless it renews it. */
const LEASE = 20;

/**
 * Takes or renews the right to order: one process has it.
 *
 * @returns False: another process has it.
 */
export async function holdAcmeLease(database: Database, holder: string): Promise<boolean> {
  const rows = await database.query(
    `update acme_lease set holder = $1, renewed = clock_timestamp()
      where holder is null or holder = $1 or renewed < clock_timestamp() - interval '${LEASE} s' returning holder`,
    [holder],
  );
  return rows.length > 0;
}

/** Another process may order at once. */
export async function releaseAcmeLease(database: Database, holder: string): Promise<void> {
  await database.query("update acme_lease set holder = null where holder = $1", [holder]);
}

export async function readAcmeAccount(database: Database, directory: string) {
  const [row] = await database.query("select key, url from acme_accounts where directory = $1", [directory]);
  return row === undefined ? null : { key: String(row.key), url: row.url === null ? null : String(row.url) };
}

export async function writeAcmeAccount(
  database: Database,
  directory: string,
  { key, url }: { readonly key: string; readonly url: string | null },
): Promise<void> {
  await database.query(
    `insert into acme_accounts (directory, key, url) values ($1, $2, $3)
      on conflict (directory) do update set key = excluded.key, url = excluded.url`,
    [directory, key, url],
  );
}

/** Null: there is none. */
export async function readAcmeState(database: Database, id: string): Promise<unknown> {
  const [row] = await database.query("select state from acme_orders where certificate_id = $1::uuid", [id]);
  return row?.state ?? null;
}

export async function writeAcmeOrder(
  database: Database,
  id: string,
  { column, value }: { readonly column: "state" | "status"; readonly value: unknown },
): Promise<void> {
  await database.query(
    `insert into acme_orders (certificate_id, "${column}") values ($1::uuid, $2::text::jsonb)
      on conflict (certificate_id) do update set "${column}" = excluded."${column}"`,
    [id, JSON.stringify(value)],
  );
}

/** Resolves to the revision in which nodes have the challenges. An empty list removes them, and stores nothing. */
export async function writeAcmeChallenges(
  database: Database,
  id: string,
  challenges: readonly AcmeChallenge[],
): Promise<number> {
  return database.transaction(async (connection) => {
    if (challenges.length === 0)
      await connection.query("update acme_orders set challenges = null where certificate_id = $1::uuid", [id]);
    else
      await connection.query(
        `insert into acme_orders (certificate_id, challenges) values ($1::uuid, $2::text::jsonb)
          on conflict (certificate_id) do update set challenges = excluded.challenges`,
        [id, JSON.stringify(challenges)],
      );
    const [row] = await connection.query("select number from revision");
    return Number(row?.number);
  });
}

/** Deletes the orders of certificates that are no longer ordered. Nodes then stop answering their challenges. */
export async function deleteOldAcmeOrders(database: Database): Promise<void> {
  const isOld = "certificate_id not in (select id from certificates where acme is not null)";
  // Triggers of the database tell nodes of updated challenges, but not of deleted rows.
  await database.query(`update acme_orders set challenges = null where challenges is not null and ${isOld}`);
  await database.query(`delete from acme_orders where ${isOld}`);
}
