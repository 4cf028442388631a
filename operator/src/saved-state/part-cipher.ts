/**
 * Encrypts what is kept (AES-256-GCM): resources may hold passwords, and whoever may read ConfigMaps need not see them.
 * A part is named after its content by a keyed hash, so that an equal one is found without telling what it holds.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

export interface PartCipher {
  /** 40 characters of 0-9 and a-f. */
  nameOf(content: Buffer): string;
  /** What is sealed under one name does not open under another. */
  encrypt(name: string, content: Buffer): Buffer;
  /** @throws when it was sealed with another key or under another name, or was changed. */
  decrypt(name: string, sealed: Buffer): Buffer;
}

const NONCE = 12;
const TAG = 16;

/** @param key 32 bytes. */
export function createPartCipher(key: Buffer): PartCipher {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", key, "", `sluice document ${purpose}`, 32));
  const [naming, sealing] = [derive("names"), derive("parts")];
  return {
    nameOf: (content) => createHmac("sha256", naming).update(content).digest("hex").slice(0, 40),
    encrypt(name, content) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv("aes-256-gcm", sealing, nonce).setAAD(Buffer.from(name));
      const body = Buffer.concat([cipher.update(content), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    decrypt(name, sealed) {
      const decipher = createDecipheriv("aes-256-gcm", sealing, sealed.subarray(0, NONCE), { authTagLength: TAG })
        .setAAD(Buffer.from(name))
        .setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
      return Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()]);
    },
  };
}
