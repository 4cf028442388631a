/** When routes, consumers and credentials were last used, as `GET /usage/{collection}` answers. */
import { read } from "../../api/client.ts";
import { useLoaded } from "../../api/use-loaded.ts";

interface UsageBody {
  readonly data: readonly { readonly id: string; readonly last_used_at: number | null }[];
  /** Unix time in seconds since which uses are known; null: no node has answered. */
  readonly since: number | null;
}

/** Maximum number of entities that the admin API lists. It lists those that were not used for the longest time. */
const SIZE = 1000;

/** The collections of `/usage`, by the path of the entities. */
const usageOf: Readonly<Record<string, string>> = {
  routes: "routes",
  consumers: "consumers",
  "key-auths": "credentials",
  "basic-auths": "credentials",
  jwts: "credentials",
  "hmac-auths": "credentials",
  "mtls-auths": "credentials",
  "plugin-credentials": "credentials",
};

export interface LastUse {
  readonly text: string;
  /** Unix time in seconds, for sorting. */
  readonly at: number;
}

/** Returns the last use of an entity by its id; undefined if uses of the collection are not known. */
export function useLastUses(path: string): ((id: string) => LastUse) | undefined {
  const { data } = useLoaded(
    async (signal) => {
      const collection = usageOf[path];
      if (collection === undefined) return undefined;
      const { data: uses, since } = await read<UsageBody>(`usage/${collection}?size=${SIZE}`, signal);
      return { uses: new Map(uses.map(({ id, last_used_at }) => [id, last_used_at])), since };
    },
    { key: path },
  );
  if (!data || data.since === null) return undefined;
  const { uses, since } = data;
  const now = Date.now() / 1000;
  return (id) => {
    const last = uses.get(id);
    if (last === undefined) return { text: "recently", at: now };
    return last === null
      ? { text: `not in ${ageText(now - since)}`, at: 0 }
      : { text: `${ageText(now - last)} ago`, at: last };
  };
}

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

function ageText(seconds: number): string {
  if (seconds >= 2 * DAY) return `${Math.floor(seconds / DAY)} days`;
  if (seconds >= 2 * HOUR) return `${Math.floor(seconds / HOUR)} h`;
  return `${Math.max(1, Math.floor(seconds / MINUTE))} min`;
}
