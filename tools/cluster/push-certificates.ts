/** Certificates for mutual TLS between the operator and the nodes, as files and the settings that name them. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeAuthority, type TestAuthority } from "../programs/certificates.ts";
import type { Env } from "../start/processes.ts";

export interface PushCertificateFiles {
  readonly node: Env;
  readonly operator: Env;
}

/**
 * Writes an authority, a certificate for the nodes and one for the operator into a folder, as files that only their
 * owner can read.
 */
export async function writePushCertificates(folder: string): Promise<PushCertificateFiles> {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const authority = await makeAuthority("sluice push authority");
  const put = (name: string, text: string): string => {
    const file = join(folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  };
  const ca = put("authority.crt", authority.certificate);
  const settings = async (name: string, usage: "client" | "peer"): Promise<Env> => {
    const { certificate, key } = await issued(authority, { name, usage });
    return {
      SLUICE_PUSH_TLS_CERT: put(`${name}.crt`, certificate),
      SLUICE_PUSH_TLS_KEY: put(`${name}.key`, key),
      SLUICE_PUSH_TLS_CA: ca,
    };
  };
  return { node: await settings("sluice-gateway", "peer"), operator: await settings("sluice-operator", "client") };
}

const issued = (authority: TestAuthority, { name, usage }: { name: string; usage: "client" | "peer" }) =>
  authority.issue({ name, sans: [name], usage });
