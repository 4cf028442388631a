import assert from "node:assert/strict";
import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority } from "../../../tools/programs/certificates.ts";
import { mountFiles } from "../../../tools/programs/kubernetes/mounted-secret.ts";
import { followPemFiles, PemError, type PemTexts, readPemFiles } from "./pem-files.ts";

const authority = await makeAuthority();
async function makeSet(): Promise<PemTexts> {
  const { certificate, key } = await authority.issue({ name: "node", sans: ["node"], usage: "server" });
  return { cert: certificate, key, ca: authority.certificate };
}
const [first, second, third] = await Promise.all([makeSet(), makeSet(), makeSet()]);

const names: PemTexts = { cert: "tls.crt", key: "tls.key", ca: "ca.crt" };
const each = ["cert", "key", "ca"] as const;

/** The files in the layout in which the kubelet mounts a Secret. */
function mounted(t: TestContext, texts: PemTexts) {
  const folder = temporaryFolder("mounted");
  t.after(() => folder.remove());
  const swap = (next: PemTexts) =>
    mountFiles(folder.path, Object.fromEntries(each.map((one) => [names[one], next[one]])));
  swap(texts);
  const files = Object.fromEntries(each.map((one) => [one, join(folder.path, names[one])])) as unknown as PemTexts;
  return { files, swap };
}

/** The files in a plain folder. */
function plain(t: TestContext, texts: PemTexts) {
  const folder = temporaryFolder("plain");
  t.after(() => folder.remove());
  const files = Object.fromEntries(each.map((one) => [one, join(folder.path, names[one])])) as unknown as PemTexts;
  const write = (some: Partial<PemTexts>) => {
    for (const one of each) if (some[one] !== undefined) writeFileSync(files[one], some[one]);
  };
  write(texts);
  return { files, write };
}

function follow(t: TestContext, files: PemTexts, { interval = 600_000, fails = (): boolean => false } = {}) {
  const taken: PemTexts[] = [];
  const failures: string[] = [];
  const following = followPemFiles({
    files,
    texts: first,
    onTexts(texts) {
      if (fails()) throw new Error("rejected by the test");
      taken.push(texts);
    },
    onFailure: (reason) => failures.push(reason),
    interval,
  });
  t.after(following.close);
  return { taken, failures, close: following.close };
}

test("every change of a mounted Secret is loaded without waiting for the next poll", async (t) => {
  const { files, swap } = mounted(t, first);
  assert.deepEqual(await readPemFiles(files), first);
  const { taken, failures } = follow(t, files);
  for (const [index, next] of [second, third, first].entries()) {
    swap(next);
    await waitFor(() => taken.length > index, { what: "the change to be reported" });
  }
  assert.deepEqual(taken, [second, third, first]);
  assert.deepEqual(failures, []);
});

test("each error of a partly written set of files is reported once, and the set is used only when it is complete", async (t) => {
  const { files, write } = plain(t, first);
  const { taken, failures } = follow(t, files, { interval: 20 });
  write({ cert: second.cert });
  await waitFor(() => failures.length > 0, { what: "the first error to be reported" });
  assert.match(failures[0] ?? "", /the key in .*tls\.key is not that of the certificate in .*tls\.crt/);
  write({ ca: `${second.ca}${second.ca.slice(0, 200)}` });
  write({ key: second.key });
  await waitFor(() => failures.length > 1, { what: "the second error to be reported" });
  assert.deepEqual(taken, []);
  write({ ca: second.ca });
  await waitFor(() => taken.length > 0, { what: "the complete set to be reported" });
  assert.deepEqual([taken, failures.length], [[second], 2]);
});

test("a change without a file system event is found by the next poll", async (t) => {
  // The links and the files are in different folders, and only the folder of the links is watched.
  const { files, write } = plain(t, first);
  const folder = temporaryFolder("links");
  t.after(() => folder.remove());
  const links = Object.fromEntries(each.map((one) => [one, join(folder.path, names[one])])) as unknown as PemTexts;
  for (const one of each) symlinkSync(files[one], links[one]);
  const { taken } = follow(t, links, { interval: 20 });
  write(second);
  await waitFor(() => taken.length > 0, { what: "the change to be reported" });
  assert.deepEqual(taken.at(-1), second);
});

test("a set of files that the callback rejects is tried again", async (t) => {
  const { files, write } = plain(t, second);
  let fails = true;
  const { taken, failures } = follow(t, files, { interval: 20, fails: () => fails });
  await waitFor(() => failures.length > 0, { what: "the error to be reported" });
  fails = false;
  await waitFor(() => taken.length > 0, { what: "the change to be reported" });
  assert.deepEqual([taken, failures], [[second], ["rejected by the test"]]);
  write(first);
  await waitFor(() => taken.length > 1, { what: "the next change to be reported" });
});

test("a missing file is reported, and the previous texts stay in use", async (t) => {
  const { files } = plain(t, first);
  const { taken, failures } = follow(t, files, { interval: 20 });
  rmSync(files.key);
  await waitFor(() => failures.length > 0, { what: "the error to be reported" });
  assert.match(failures[0] ?? "", /ENOENT.*tls\.key/);
  assert.deepEqual(taken, []);
});

const faults: readonly (readonly [what: string, texts: Partial<PemTexts>, fault: RegExp])[] = [
  ["a text without a certificate", { cert: "" }, /tls\.crt holds no PEM certificate$/],
  ["a truncated CA certificate", { ca: first.ca.slice(0, -30) }, /ca\.crt holds an incomplete certificate/],
  [
    "two CA certificates on one line",
    { ca: first.ca.trim() + first.ca },
    /ca\.crt holds an incomplete certificate, or one .*not on its own lines/,
  ],
  [
    "a corrupted CA certificate",
    { ca: first.ca.replace(/\n.{30}/, "\nAAAA") },
    /ca\.crt holds a certificate that cannot/,
  ],
  ["an invalid key", { key: "secret" }, /tls\.key holds no PEM private key, or an encrypted one$/],
  ["the key of another certificate", { key: second.key }, /is not that of the certificate/],
];
for (const [what, texts, fault] of faults)
  test(`reading ${what} fails with an error that names the file and does not show its content`, async (t) => {
    const { files, write } = plain(t, first);
    write(texts);
    const error = await readPemFiles(files).then(
      () => assert.fail("the files were accepted"),
      (reason: Error) => reason,
    );
    assert.ok(error instanceof PemError);
    assert.match(error.message, fault);
    assert.doesNotMatch(error.message, /secret|BEGIN/);
  });
