/**
 * Encrypts the saved state (AES-256-GCM). Resources may contain passwords, which readers of ConfigMaps must not see. A
 * part is named by a keyed hash of its content: an equal part is recognized without revealing its content.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

const NONCE = 12;
const TAG = 16;

/** @param key 32 bytes. */
export function createPartCipher(key: Buffer) {
  const derive = (purpose: string) => Buffer.from(hkdfSync("sha256", key, "", `sluice document ${purpose}`, 32));
  const [naming, sealing] = [derive("names"), derive("parts")];
  return {
    /** The name of a part with this content: 40 characters of 0-9 and a-f. */
    nameOf: (content: Buffer) => createHmac("sha256", naming).update(content).digest("hex").slice(0, 40),
    /** Content encrypted under one name cannot be decrypted under another. */
    encrypt(name: string, content: Buffer) {
      const nonce = randomBytes(NONCE);
      const cipher = createCipheriv("aes-256-gcm", sealing, nonce).setAAD(Buffer.from(name));
      const body = Buffer.concat([cipher.update(content), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },
    /** @throws when the part was encrypted with another key or under another name, or was changed. */
    decrypt(name: string, sealed: Buffer) {
      const decipher = createDecipheriv("aes-256-gcm", sealing, sealed.subarray(0, NONCE), { authTagLength: TAG })
        .setAAD(Buffer.from(name))
        .setAuthTag(sealed.subarray(NONCE, NONCE + TAG));
      return Buffer.concat([decipher.update(sealed.subarray(NONCE + TAG)), decipher.final()]);
    },
  };
}

export type PartCipher = ReturnType<typeof createPartCipher>;
