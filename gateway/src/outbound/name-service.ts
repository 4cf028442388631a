/** Looks up names in DNS: with the system's resolver, or with the servers of SLUICE_DNS_RESOLVER. */
import { type LookupAddress, type LookupOptions, lookup as lookupBySystem, promises, type SrvRecord } from "node:dns";

type LookupCallback = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

export interface NameService {
  /** The addresses of a name, like `dns.lookup` with the option `all`. */
  lookup(name: string, options: LookupOptions & { readonly all: true }, done: LookupCallback): void;
  /** The SRV records of a name (RFC 2782), in any order; empty: it has none. Rejects when no server answers. */
  serviceRecords(name: string): Promise<readonly SrvRecord[]>;
}

/** Milliseconds that a server has to answer at first; c-ares doubles the time for each further try. */
const TIMEOUT = 2000;
const TRIES = 2;

/** The name, or the type of record, does not exist. */
const ABSENT: ReadonlySet<string | undefined> = new Set(["ENOTFOUND", "ENODATA"]);

const isAbsent = (error: unknown): boolean => ABSENT.has((error as NodeJS.ErrnoException).code);

/**
 * @param servers `address` or `address:port`. If there are any, they are asked first, and the system's resolver, which
 * also reads the hosts file, only for names that they do not know. Otherwise all names are looked up by the system.
 */
export function createNameService(servers: readonly string[]): NameService {
  const resolver = new promises.Resolver({ timeout: TIMEOUT, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return {
    lookup:
      servers.length === 0
        ? lookupBySystem
        : (name, options, done) => {
            void addressesFrom(resolver, name, options.family).then((found) => {
              if (found === "unanswered") done(unansweredError(name), []);
              else if (found.length > 0) done(null, found);
              else lookupBySystem(name, options, done);
            });
          },
    async serviceRecords(name) {
      try {
        return await resolver.resolveSrv(name);
      } catch (error) {
        if (isAbsent(error)) return [];
        throw error;
      }
    },
  };
}

const families = [
  { family: 4, words: [0, 4, "IPv4"], resolve: "resolve4" },
  { family: 6, words: [0, 6, "IPv6"], resolve: "resolve6" },
] as const;

/** Empty when the servers do not know the name. Never rejects. */
async function addressesFrom(
  resolver: promises.Resolver,
  name: string,
  asked: LookupOptions["family"] = 0,
): Promise<LookupAddress[] | "unanswered"> {
  let isUnanswered = false;
  const found = await Promise.all(
    families.map(async ({ family, words, resolve }): Promise<readonly LookupAddress[]> => {
      if (!words.some((word) => word === asked)) return [];
      try {
        return (await resolver[resolve](name)).map((address) => ({ address, family }));
      } catch (error) {
        if (!isAbsent(error)) isUnanswered = true;
        return [];
      }
    }),
  );
  const addresses = found.flat();
  return addresses.length === 0 && isUnanswered ? "unanswered" : addresses;
}

/** The error that the system's resolver reports in this case. The codes of c-ares also stand for other failures. */
const unansweredError = (name: string): NodeJS.ErrnoException =>
  Object.assign(new Error(`the DNS servers do not answer for ${name}`), { code: "EAI_AGAIN" });
