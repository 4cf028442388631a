/** Reads whole lists of the admin API, page by page. */
import type { CertificateDetails } from "@sluice/model";
import { read } from "./client.ts";

export interface EntityRecord {
  readonly id: string;
  readonly [member: string]: unknown;
}

export interface EntityList {
  readonly entities: readonly EntityRecord[];
  /** Whether the collection has more entities than are read. */
  readonly isTruncated: boolean;
}

/** Maximum number of entities that are read: a browser would need gigabytes for more. */
export const MAX_ENTITIES = 20_000;

const PAGE_SIZE = 1000;

interface LoadPagesOptions {
  readonly signal?: AbortSignal;
  /** Called after each page with the number of items so far. */
  readonly report?: (count: number) => void;
  readonly max?: number;
}

export async function loadEntities(path: string, options: LoadPagesOptions = {}): Promise<EntityList> {
  const { items, isTruncated } = await loadPages<EntityRecord>(path, options);
  return { entities: path === "ca_certificates" ? await withTitles(items, options.signal) : items, isTruncated };
}

/** The body of `GET /certificate-details`. */
interface AuthoritiesBody {
  readonly data: readonly (CertificateDetails & { readonly id: string })[];
}

/** Adds a title to CA certificates, which have no name. Without the details, they are known by their digests. */
async function withTitles(
  authorities: readonly EntityRecord[],
  signal: AbortSignal | undefined,
): Promise<readonly EntityRecord[]> {
  const { data } = await read<AuthoritiesBody>("certificate-details", signal).catch(() => ({ data: [] }));
  const titles = new Map(data.map((details) => [details.id, certificateTitle(details)]));
  return authorities.map((authority) => {
    const title = titles.get(authority.id);
    return title === undefined ? authority : { ...authority, title };
  });
}

/** With the date, because a renewed CA certificate has the same subject. */
export const certificateTitle = ({ subject, not_after }: CertificateDetails): string =>
  `${subject}, expires ${not_after.slice(0, 10)}`;

/** Reads any list that the admin API answers in pages. */
export async function loadPages<Item>(
  path: string,
  { signal, report = () => {}, max = MAX_ENTITIES }: LoadPagesOptions = {},
): Promise<{ readonly items: readonly Item[]; readonly isTruncated: boolean }> {
  const items: Item[] = [];
  let offset: string | undefined;
  do {
    const size = `size=${PAGE_SIZE}`;
    const query = offset === undefined ? size : `${size}&offset=${encodeURIComponent(offset)}`;
    const page = await read<{ readonly data: readonly Item[]; readonly offset?: string }>(`${path}?${query}`, signal);
    items.push(...page.data);
    report(items.length);
    offset = page.offset;
  } while (offset !== undefined && items.length < max);
  return { items, isTruncated: offset !== undefined };
}
