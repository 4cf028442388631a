import { firstKeyPair } from "../../../../tools/programs/pairs.ts";
import { type CrdRow, commonSpecRows, uuid } from "./row.ts";

const ca = { cert: firstKeyPair.cert };

export const caCertificateRows: readonly CrdRow[] = [
  ...commonSpecRows(ca),
  ["a certificate", ca, null],
  ["a certificate without a line break at its end", { cert: firstKeyPair.cert.trim() }, null],
  ["a certificate after other text", { cert: `subject=a\n${firstKeyPair.cert}` }, null],
  ["no certificate", { id: uuid }, /spec\.cert: Required value/],
  ["a text that is no certificate", { cert: "x" }, /must be a certificate in PEM/],
  ["a private key", { cert: firstKeyPair.cert + firstKeyPair.key }, /must not contain a private key/],
  ["a digest", { ...ca, certDigest: "a" }, /unknown field "spec\.certDigest"/],
  ["a Secret", { secretRef: { name: "ca" } }, /unknown field "spec\.secretRef"/],
  ["a certificate of 65536 characters", { cert: firstKeyPair.cert.padEnd(65_536) }, null],
  [
    "a certificate of 65537 characters",
    { cert: firstKeyPair.cert.padEnd(65_537) },
    /Too long: may not be more than 65536/,
  ],
];
