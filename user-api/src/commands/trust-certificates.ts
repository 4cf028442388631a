/** Certificate authorities trusted for Redis and Postgres, in addition to those of Node. */
import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { StartFailure, wordsOf } from "./failure.ts";

const VARIABLE = "SLUICE_USER_API_TRUSTED_CERTIFICATES";

/** @throws StartFailure when the file cannot be read or holds no certificate. */
export async function trustCertificates(file: string): Promise<void> {
  const text = await readFile(file, "utf8").catch((error: unknown) => {
    throw new StartFailure(`cannot read the file of ${VARIABLE}: ${wordsOf(error)}`);
  });
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new StartFailure(`the file of ${VARIABLE} holds no PEM certificate`);
  try {
    for (const block of blocks) new X509Certificate(block);
  } catch (error) {
    throw new StartFailure(`the file of ${VARIABLE} holds a certificate that cannot be read: ${wordsOf(error)}`);
  }
  setDefaultCACertificates([...getCACertificates("default"), ...blocks]);
}
