/** The push listener while its certificate files change. */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { connect } from "node:tls";
import { readPemFiles } from "@sluice/model";
import { Agent, request } from "undici";
import { createIntake } from "../../../gateway/src/sources/intake.ts";
import { createPushSource } from "../../../gateway/src/sources/push/push-source.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { makeAuthority, type TestAuthority } from "../../../tools/programs/certificates.ts";

const bundle = (authorities: readonly TestAuthority[]) =>
  authorities.map(({ certificate }) => `${certificate.trim()}\n`).join("");

/** Starts a push source with writable certificate files. Returns functions that use it, and the lines of its log. */
async function scene(t: TestContext) {
  const folder = temporaryFolder("push-renewal");
  const files = { cert: join(folder.path, "crt"), key: join(folder.path, "key"), ca: join(folder.path, "ca") };
  /** Writes a server certificate that the first authority signed, and a CA file with all of the authorities. */
  async function write([first, ...others]: readonly [TestAuthority, ...TestAuthority[]]): Promise<void> {
    const { certificate, key } = await first.issue({ name: "node", sans: ["node"], usage: "server" });
    writeFileSync(files.ca, bundle([first, ...others]));
    writeFileSync(files.cert, certificate);
    writeFileSync(files.key, key);
  }
  const [one, other] = await Promise.all([makeAuthority(), makeAuthority()]);
  await write([one]);
  const lines: string[] = [];
  const note = (details: object, message: string) => void lines.push(`${message} ${JSON.stringify(details)}`);
  const source = createPushSource({
    listen: { host: "127.0.0.1", port: 0 },
    tls: { ...(await readPemFiles(files)), files, client: "sluice-operator" },
    log: { info: note, warn: note, error: note },
  });
  await source.start(createIntake({ node: "n", version: "1", serve: () => {} }));
  t.after(async () => {
    await source.stop();
    folder.remove();
  });
  const { port } = source.address();

  /** An operator that trusts both authorities, with a client certificate that the given authority signed. */
  async function operatorOf(authority: TestAuthority) {
    const sans = ["sluice-operator"];
    const { certificate: cert, key } = await authority.issue({ name: "sluice-operator", sans, usage: "client" });
    const ca = bundle([one, other]);
    const tls = { cert, key, ca, servername: "node" };
    const dispatcher = new Agent({ connections: 1, connect: tls });
    t.after(() => dispatcher.close());
    return {
      tls,
      async ask() {
        const { statusCode, headers, body } = await request(`https://127.0.0.1:${port}/document`, { dispatcher });
        await body.dump();
        return { status: statusCode, closes: headers.connection === "close" };
      },
    };
  }

  /** The serial number of the certificate that the node presents on a new connection. */
  async function shown(): Promise<string> {
    const { tls } = await operatorOf(one);
    const socket = connect({ ...tls, host: "127.0.0.1", port });
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    const { serialNumber } = socket.getPeerCertificate();
    socket.destroy();
    return serialNumber;
  }
  const renewals = () => lines.filter((line) => line.startsWith("presenting a new certificate")).length;
  const renewed = async (count: number) => {
    await waitFor(() => renewals() === count, { what: `${count} renewals` });
  };
  /** The serial number of the certificate whose expiry the node reports. */
  const reported = () => new X509Certificate(source.ownCertificate?.() ?? "").serialNumber;
  return { files, write, one, other, lines, operatorOf, shown, reported, renewed };
}

test("a renewed certificate is presented on the next connection, and the existing connection ends gracefully", async (t) => {
  const { write, one, operatorOf, shown, reported, renewed } = await scene(t);
  const { ask } = await operatorOf(one);
  assert.equal(reported(), await shown());
  assert.deepEqual([await ask(), await ask()], Array(2).fill({ status: 200, closes: false }));
  const before = await shown();
  await write([one]);
  await renewed(1);
  assert.deepEqual(await ask(), { status: 200, closes: true });
  assert.deepEqual(await ask(), { status: 200, closes: false });
  assert.notEqual(await shown(), before);
  assert.equal(reported(), await shown());
});

test("during a rotation of the authority no request fails, and afterwards only operators of the new authority are accepted", async (t) => {
  const { write, one, other, operatorOf, renewed } = await scene(t);
  const [old, next] = [await operatorOf(one), await operatorOf(other)];
  await assert.rejects(next.ask(), "an unknown authority");
  const steps: readonly (readonly [TestAuthority, ...TestAuthority[]])[] = [[one, other], [other, one], [other]];
  for (const [index, authorities] of steps.entries()) {
    // An operator that the node trusts before and after the step: the old authority's operator in the first step, and
    // the new authority's operator in the other steps.
    const { ask } = index === 0 ? old : next;
    await write(authorities);
    let isRenewed = false;
    const renewal = renewed(index + 1).then(() => {
      isRenewed = true;
    });
    while (!isRenewed) assert.equal((await ask()).status, 200);
    await renewal;
    assert.equal((await next.ask()).status, 200);
  }
  await assert.rejects(async () => {
    await old.ask();
    await old.ask();
  }, "the old authority's operator");
});

test("a certificate file that does not match the key file changes nothing, and is logged without its content", async (t) => {
  const { files, write, one, lines, operatorOf, shown, renewed } = await scene(t);
  const before = await shown();
  const { certificate } = await one.issue({ name: "node", sans: ["node"], usage: "server" });
  writeFileSync(files.cert, certificate);
  await waitFor(() => lines.length > 0, { what: "the error to be logged" });
  assert.match(lines[0] ?? "", /^keeping the previous certificate .*the key in .*key is not that of the/);
  assert.doesNotMatch(lines.join(""), /BEGIN/);
  const { ask } = await operatorOf(one);
  assert.deepEqual([await ask(), await shown()], [{ status: 200, closes: false }, before]);
  await write([one]);
  await renewed(1);
});
