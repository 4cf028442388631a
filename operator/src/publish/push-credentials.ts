/** How the operator authenticates to the nodes, according to the settings, and how the credentials are rotated. */
import { once } from "node:events";
import { followPemFiles, type PemFiles, readPemFiles, SettingsError } from "@sluice/model";
import type { Logger } from "pino";
import type { CertificateRotationOptions } from "../certificates/push-certificate-rotation.ts";
import { operatorSettings as names, type OperatorSettings } from "../settings.ts";
import type { NodeCredentials, NodeTls } from "./node-client.ts";

type Rotation = "client" | "authorityNamespace" | "manager" | "leads" | "recordEvent" | "signal";

export interface RotateCredentialsOptions extends Pick<CertificateRotationOptions, Rotation> {
  readonly renew: (tls: NodeTls) => void;
  readonly log: Logger;
}

export interface PushCredentials {
  readonly credentials: NodeCredentials;
  /** Rotates the credentials until the signal aborts; never rejects. Absent: they do not change. */
  readonly rotate?: (options: RotateCredentialsOptions) => Promise<void>;
}

/** @throws SettingsError, PemError, and the errors of reading files. */
export async function loadPushCredentials(settings: OperatorSettings): Promise<PushCredentials> {
  const { pushToken, pushSecret, directory } = settings;
  const files = filesOf(settings);
  if (pushSecret !== null) {
    if (files)
      throw new SettingsError(
        `${names.pushSecret.variable} and ${names.pushCert.variable} are two sources of one certificate: set one of them`,
      );
    if (directory !== null)
      throw new SettingsError(`${names.pushSecret.variable} needs a cluster, but ${names.directory.variable} is set`);
    return { credentials: { tls: null }, rotate: rotateFromSecret(settings, pushSecret) };
  }
  if (files) {
    const serverName = settings.pushServerName;
    const tls = { ...(await readPemFiles(files)), serverName };
    return { credentials: { tls }, rotate: rotateFromFiles(files, tls) };
  }
  if (pushToken) return { credentials: { token: pushToken } };
  throw new SettingsError(
    `the nodes require authentication: set ${names.pushToken.variable}, ${names.pushSecret.variable}, or ${names.pushCert.variable} with its key and authority`,
  );
}

function filesOf({ pushCert: cert, pushKey: key, pushAuthority: ca }: OperatorSettings): PemFiles | null {
  if (cert && key && ca) return { cert, key, ca };
  if (!cert && !key && !ca) return null;
  const { pushCert, pushKey, pushAuthority } = names;
  throw new SettingsError(
    `${pushCert.variable}, ${pushKey.variable} and ${pushAuthority.variable} belong together: set all three`,
  );
}

function rotateFromSecret(
  { homeNamespace: namespace, pushServerName: serverName, pushOverlap: overlap }: OperatorSettings,
  name: string,
): PushCredentials["rotate"] {
  return async ({ renew, ...options }) => {
    // Imported only when needed: tokens and certificates from files do not use this module.
    const { rotatePushCertificates } = await import("../certificates/push-certificate-rotation.ts");
    await rotatePushCertificates({
      ...options,
      secret: { namespace, name },
      serverName,
      overlap,
      onCertificate: (texts) => renew({ ...texts, serverName }),
    });
  };
}

function rotateFromFiles(files: PemFiles, { serverName, ...texts }: NodeTls): PushCredentials["rotate"] {
  return async ({ renew, log, signal }) => {
    const following = followPemFiles({
      files,
      texts,
      onTexts(found) {
        renew({ ...found, serverName });
        log.info("presenting a new certificate to the nodes");
      },
      onFailure: (reason) => log.warn({ reason }, "keeping the previous certificate"),
    });
    if (!signal.aborted) await once(signal, "abort");
    following.close();
  };
}
