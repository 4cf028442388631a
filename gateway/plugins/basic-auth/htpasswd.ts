/**
 * Files in the format of htpasswd, as nginx reads them (ngx_http_auth_basic_module): a user name, a colon and the hash
 * of the password on each line. Text after a further colon is a comment, and so is a line that begins with `#`. The first
 * line with a name counts.
 */

/** `sha` and `ssha` take microseconds; the others are slow on purpose. */
export type HashForm = "sha" | "ssha" | "md5-crypt" | "sha-crypt" | "bcrypt";

export interface HtpasswdUser {
  readonly name: string;
  readonly hash: string;
  /** Null: the hash is not supported, so the user cannot log in. */
  readonly form: HashForm | null;
}

export const supportedForms =
  "$apr1$, $1$, $2a$, $2b$, $2y$ (up to cost 14), $5$, $6$ (up to 500,000 rounds), {SHA} and {SSHA}";

/** A hash with a higher cost would occupy the thread for seconds for each guess. */
const MAX_COST = 14;
const MAX_ROUNDS = 500_000;

/** The characters of a salt and a hash in crypt(3), which differ from those of Base64. */
const MD5_CRYPT = /^\$(?:apr1|1)\$[./\dA-Za-z]{0,8}\$[./\dA-Za-z]{22}$/;
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./\dA-Za-z]{53}$/;
const SHA256_CRYPT = /^\$5\$(?:rounds=(\d{1,9})\$)?[./\dA-Za-z]{0,16}\$[./\dA-Za-z]{43}$/;
const SHA512_CRYPT = /^\$6\$(?:rounds=(\d{1,9})\$)?[./\dA-Za-z]{0,16}\$[./\dA-Za-z]{86}$/;
const SHA = /^\{SHA\}[+/\dA-Za-z]{27}=$/;
/** At least one byte of salt follows the 20 bytes of the hash. */
const SSHA = /^\{SSHA\}[+/\dA-Za-z]{28,256}={0,2}$/;

function formOf(hash: string): HashForm | null {
  if (SHA.test(hash)) return "sha";
  if (SSHA.test(hash)) return "ssha";
  if (MD5_CRYPT.test(hash)) return "md5-crypt";
  const cost = Number(BCRYPT.exec(hash)?.[1] ?? Number.NaN);
  if (cost >= 4 && cost <= MAX_COST) return "bcrypt";
  const shaCrypt = SHA256_CRYPT.exec(hash) ?? SHA512_CRYPT.exec(hash);
  return shaCrypt !== null && Number(shaCrypt[1] ?? 0) <= MAX_ROUNDS ? "sha-crypt" : null;
}

/** The users of a file, each once. */
export function usersOf(file: string): readonly HtpasswdUser[] {
  const users = new Map<string, HtpasswdUser>();
  for (const line of file.split(/\r?\n/)) {
    if (line.startsWith("#")) continue;
    const [name = "", hash] = line.split(":", 2);
    if (hash === undefined || name === "" || users.has(name)) continue;
    users.set(name, { name, hash, form: formOf(hash) });
  }
  return [...users.values()];
}

const MAX_NAMES = 10;

/** The names of users, for a message. */
export function namesOf(users: readonly HtpasswdUser[]): string {
  const names = users.slice(0, MAX_NAMES).map(({ name }) => name);
  const others = users.length - names.length;
  return others > 0 ? `${names.join(", ")} and ${others} others` : names.join(", ");
}

/** Why a file cannot be used; undefined: at least one user can log in. */
export function htpasswdFault(file: string): string | undefined {
  const users = usersOf(file);
  if (users.length === 0) return "contains no user: each line must have a user name, a colon and a hash";
  if (users.some(({ form }) => form !== null)) return undefined;
  return `no user can log in, because the hashes of ${namesOf(users)} are not supported. Supported are ${supportedForms}`;
}
