import assert from "node:assert/strict";
import { test } from "node:test";
import { describeDatabaseError, isUnavailable } from "./describe-error.ts";
import { DatabaseFault, DatabaseUnreachable } from "./driver.ts";

const prefix = "the database cannot be used at the moment: ";

const faults: readonly (readonly [code: string, message: string, expected: string])[] = [
  ["53100", "could not extend file: No space left on device", "free space on the disk of the database"],
  ["53300", "too many clients already", "raise max_connections of the server, or lower SLUICE_PG_POOL_SIZE"],
  ["25006", "cannot execute INSERT in a read-only transaction", "name the primary server in SLUICE_PG_HOST"],
  ["28P01", 'password authentication failed for user "sluice"', "check SLUICE_PG_USER and SLUICE_PG_PASSWORD"],
  ["3D000", 'database "sluice" does not exist', "check SLUICE_PG_DATABASE"],
  ["42501", "permission denied for table routes", "grant the user of SLUICE_PG_USER the required privileges"],
  ["58030", "could not write block 1 of file: I/O error", "check the disk and the log of the database"],
  ["XX001", "invalid page in block 0", "restore the database from a backup"],
];

for (const [code, message, advice] of faults) {
  test(`an error with the code ${code} is reported with the message of the database and a remedy`, () => {
    const fault = new DatabaseFault(message, { code, detail: "what a row holds", hint: "what to try" });
    assert.equal(isUnavailable(fault), true);
    assert.equal(describeDatabaseError(fault), `${prefix}${message}: ${advice}`);
  });
}

test("an error whose code has no remedy is reported with its message only", () => {
  const fault = new DatabaseFault("out of memory", { code: "53200" });
  assert.equal(describeDatabaseError(fault), `${prefix}out of memory`);
});

test("an unreachable database is reported with the reason", () => {
  const away = new DatabaseUnreachable("the database at db:5432 does not answer: connect ECONNREFUSED");
  assert.equal(isUnavailable(away), true);
  assert.equal(describeDatabaseError(away), away.message);
});

test("an error that concerns only the statement does not mean that the database is unavailable", () => {
  for (const code of ["23505", "42601", "22P02"]) assert.equal(isUnavailable(new DatabaseFault("x", { code })), false);
});
