/** PEM texts with several blocks. */

const blocks = {
  CERTIFICATE: /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
  "PRIVATE KEY": /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/g,
} as const;

/** The complete blocks with this label. */
export const blocksOf = (text: string, label: keyof typeof blocks): readonly string[] =>
  text.match(blocks[label]) ?? [];

export const joinPem = (pems: readonly string[]): string => pems.map((pem) => `${pem.trimEnd()}\n`).join("");
