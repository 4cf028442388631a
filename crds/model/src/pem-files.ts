/**
 * The PEM files for mutual TLS between the operator and a node. Both sides read them at the start and again whenever
 * they change, because a mounted Secret is updated while the process runs.
 */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { type FSWatcher, watch } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname } from "node:path";

/** A certificate, its private key, and the trusted authorities: PEM texts, or the paths of files that contain them. */
export interface PemTexts {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}
export type PemFiles = PemTexts;

/** The files are not valid PEM, or the key does not match the certificate. */
export class PemError extends Error {
  override readonly name = "PemError";
}

/**
 * Reads the files, and checks their texts.
 *
 * @throws PemError, and errors of reading a file.
 */
export async function readPemFiles({ cert, key, ca }: PemFiles): Promise<PemTexts> {
  const [certText, keyText, caText] = await Promise.all([cert, key, ca].map((file) => readFile(file, "utf8")));
  const texts = { cert: certText ?? "", key: keyText ?? "", ca: caText ?? "" };
  const [own] = certificatesIn(cert, texts.cert);
  certificatesIn(ca, texts.ca);
  if (!own?.checkPrivateKey(privateKeyIn(key, texts.key)))
    throw new PemError(`the key in ${key} is not that of the certificate in ${cert}`);
  return texts;
}

/**
 * The certificates of authorities in a PEM file, each as a PEM text.
 *
 * @throws PemError, and errors of reading a file.
 */
export async function readAuthorities(file: string): Promise<readonly string[]> {
  return certificatesIn(file, await readFile(file, "utf8")).map((certificate) => certificate.toString());
}

export interface FollowPemOptions {
  readonly files: PemFiles;
  /** The texts that were read last. */
  readonly texts: PemTexts;
  /** Called with the new texts when they changed and are valid. An error that it throws is reported to `onFailure`. */
  readonly onTexts: (texts: PemTexts) => void;
  /** Called when files cannot be used, and again when the reason changes. The previous texts stay in use. */
  readonly onFailure: (reason: string) => void;
  /** Milliseconds between polls, for file systems without change notifications. Default 10,000. */
  readonly interval?: number;
}

/** Milliseconds to wait after a change, so that a writer of several files can write all of them. */
const SETTLED = 100;

/** Watches the files until `close` is called; no callback is called after that. */
export function followPemFiles(options: FollowPemOptions): { close(): void } {
  const { files, onTexts, onFailure, interval = 10_000 } = options;
  let { texts } = options;
  let lastFailure = "";
  let closed = false;
  let looking = false;
  /** Whether a file changed while the files were being read. */
  let again = false;
  let timer: NodeJS.Timeout;

  async function poll(): Promise<void> {
    looking = true;
    again = false;
    let reason = "";
    try {
      const found = await readPemFiles(files);
      if (!closed && !isSame(found, texts)) onTexts(found);
      texts = found;
    } catch (error) {
      reason = (error as Error).message;
    }
    looking = false;
    if (closed) return;
    if (reason !== "" && reason !== lastFailure) onFailure(reason);
    lastFailure = reason;
    plan(again ? SETTLED : interval);
  }

  function plan(wait: number): void {
    clearTimeout(timer);
    timer = setTimeout(poll, wait).unref();
  }

  function onChange(): void {
    if (looking) again = true;
    else if (!closed) plan(SETTLED);
  }

  /** Watches the files' folders: a mounted Secret is a folder of symbolic links that are switched together. */
  function watchers(): readonly FSWatcher[] {
    const folders = new Set([files.cert, files.key, files.ca].map((file) => dirname(file)));
    return [...folders].flatMap((folder) => {
      try {
        const watcher = watch(folder, { persistent: false }, onChange);
        // Polling still finds changes when the watcher fails.
        return [watcher.on("error", () => watcher.close())];
      } catch {
        return [];
      }
    });
  }

  const watching = watchers();
  // The files may have changed between the reading of `texts` and the start of the watchers.
  plan(SETTLED);
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      for (const watcher of watching) watcher.close();
    },
  };
}

const isSame = (one: PemTexts, other: PemTexts): boolean =>
  one.cert === other.cert && one.key === other.key && one.ca === other.ca;

/** The certificates in a file's text. Throws unless there is at least one and all of them are complete. */
function certificatesIn(file: string, text: string): readonly X509Certificate[] {
  const begun = text.match(/-----BEGIN CERTIFICATE-----/g)?.length ?? 0;
  const whole = text.match(/^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\r?$/gm) ?? [];
  if (begun === 0) throw new PemError(`${file} holds no PEM certificate`);
  if (whole.length < begun)
    throw new PemError(`${file} holds an incomplete certificate, or one that is not on its own lines`);
  try {
    return whole.map((pem) => new X509Certificate(pem));
  } catch {
    throw new PemError(`${file} holds a certificate that cannot be read`);
  }
}

function privateKeyIn(file: string, text: string) {
  try {
    return createPrivateKey(text);
  } catch {
    // The original error may quote the text.
    throw new PemError(`${file} holds no PEM private key, or an encrypted one`);
  }
}
