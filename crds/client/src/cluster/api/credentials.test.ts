import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeAuthority } from "../../../../../tools/programs/certificates.ts";
import { createConnection } from "./connection.ts";
import { createCredentials } from "./credentials.ts";
import { createKubeConfig } from "./kube-config.ts";

test("a request that is refused because its token was replaced is sent once more with the new token from the file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-token-"));
  const file = join(folder, "token");
  let known = "one";
  const came: (string | undefined)[] = [];
  const server = createServer(({ headers }, response) => {
    came.push(headers.authorization);
    response.statusCode = headers.authorization === `Bearer ${known}` ? 200 : 401;
    response.end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const config = createKubeConfig();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  config.loadFromClusterAndUser(
    { name: "test", server: url, skipTLSVerify: true },
    { name: "test", authProvider: { name: "tokenFile", config: { tokenFile: file } } },
  );
  const connection = createConnection(createCredentials(config, () => 0));
  const ask = () => connection.call({ method: "GET", path: "/" });
  try {
    writeFileSync(file, "one\n");
    await ask();
    writeFileSync(file, "two\n");
    known = "two";
    await ask();
    await ask();
    assert.deepEqual(came, ["Bearer one", "Bearer one", "Bearer two", "Bearer two"]);
    known = "three";
    await assert.rejects(ask(), /401/);
    assert.equal(came.length, 5, "the same token is not tried again");
  } finally {
    await connection.close();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  }
});

test("reloaded credentials are returned if the client certificate in the file has changed, and null if nothing has", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sluice-certificate-"));
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const authority = await makeAuthority();
  const renew = async () => {
    const { certificate, key } = await authority.issue({ name: "client", usage: "client" });
    writeFileSync(certFile, certificate);
    writeFileSync(keyFile, key);
  };
  await renew();
  const config = createKubeConfig();
  config.loadFromClusterAndUser(
    { name: "test", server: "https://127.0.0.1:1", skipTLSVerify: true },
    { name: "test", certFile, keyFile },
  );
  const credentials = createCredentials(config, () => 0);
  try {
    const before = await credentials.endpoint();
    assert.equal(await credentials.reload(before), null);
    await renew();
    const fresh = await credentials.reload(before);
    assert.ok(fresh);
    assert.notEqual(fresh.dispatcher, before.dispatcher);
  } finally {
    await credentials.close();
    rmSync(folder, { recursive: true });
  }
});
