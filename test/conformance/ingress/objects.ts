/** The Secrets and ConfigMaps of the Ingresses, and the same passwords as files for nginx. */

/** Hashes of the password `secret`, in the forms that crypt(3) and nginx have. */
export const passwordHashes = {
  apr1: "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/",
  md5: "$1$abcdefgh$cHJi5PXp/ki/ktXzqlk6I1",
  bcrypt: "$2y$04$abcdefghijklmnopqrstuu2r9OfJnfCsdneAXAGHnS4UpFFP8WIrW",
  sha256: "$5$abcdefgh$gruCpC7VkOTspMQTTSAR8mtlO9Upms.fwqE5y16JVM.",
  sha512: "$6$abcdefgh$ltjgWl6579NluT/Vi1nwEvcil.G5Nbc4NiXZaNGStk8PSwGfQv72N2CKPPrVACtLtip/cZ/1GM/O6IND4WQhG.",
  sha: "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
  ssha: "{SSHA}gVK8WC9YyFT1gMsQHTGCgT3sSv5zYWx0",
  des: "abNANd1rDfiNc",
  plain: "{PLAIN}secret",
  clear: "secret",
};

const lines = Object.entries(passwordHashes).map(([user, hash]) => `${user}:${hash}`);

/** Files for nginx, in FOLDER. */
export const nginxFiles = {
  users: `# comment\nalice:${passwordHashes.apr1}:more\nalice:${passwordHashes.clear}\nempty:\n`,
  hashes: `${lines.join("\n")}\n`,
  "user-map": `alice:${passwordHashes.sha512}\nbob:${passwordHashes.apr1}\n`,
};

export const secrets = {
  users: { auth: nginxFiles.users },
  hashes: { auth: nginxFiles.hashes },
  "user-map": { alice: passwordHashes.sha512, bob: passwordHashes.apr1 },
};

export const configMaps = {
  "auth-headers": { "X-Tenant": "shop", "X-Why": "$request_uri" },
  // A block of YAML ends with a line feed.
  "response-headers": { "X-App": "2", "Content-Security-Policy": "default-src 'self'; img-src a:443\n" },
};
