import assert from "node:assert/strict";
import { test } from "node:test";
import { UnorderedCertificates } from "./unordered-certificates.ts";

const acme = { domains: null, challenge: "http-01", directory: null, key_type: "ecdsa" } as const;

test("without a folder for orders, the log and the status of each certificate name the setting", async () => {
  const unordered = new UnorderedCertificates();
  const log: unknown[] = [];
  const write = (details: object, message: string) => void log.push([details, message]);
  const options = { directories: ["https://ca.test/dir"], email: null, ca: null, externalAccountBinding: null };
  const orders = await unordered.open({
    options,
    log: { info: write, warn: write, error: write },
    node: "n1",
    onOrder: () => {},
  });
  orders.follow([{ id: "c1", name: "a.test", acme, snis: ["a.test"], cert: null }]);
  assert.deepEqual(log, [
    [{ certificates: ["a.test"] }, "certificates with acme cannot be ordered: set SLUICE_ACME_DIR"],
  ]);
  const { state, domains, directory, error } = unordered.statuses().get("c1") ?? assert.fail("no status");
  assert.deepEqual([state, domains, directory], ["refused", ["a.test"], "https://ca.test/dir"]);
  assert.equal(error?.detail, "set SLUICE_ACME_DIR");
  orders.follow([]);
  assert.equal(unordered.statuses().size, 0);
  assert.equal(log.length, 1);
});
