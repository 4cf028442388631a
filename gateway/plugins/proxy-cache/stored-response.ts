/** What the cache holds under a key, and its form in Redis. */
import { type CacheCodec, isRecord } from "@sluice/plugin-sdk";

export interface StoredResponse {
  readonly status: number;
  /** Names and values in turn, without headers of the connection. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /**
   * Unix milliseconds of the time from which the age counts: the arrival of the response; with `cache_control`, its
   * arrival minus its Age.
   */
  readonly timestamp: number;
  /** Seconds for which it is fresh. */
  readonly ttl: number;
  /** Whether it must not be used when it is stale, even if the client accepts that. */
  readonly mustRevalidate: boolean;
  /**
   * How often the types of a GraphQL result, or its own names, were purged before it was requested (see `PurgeCounts`);
   * empty for other responses.
   */
  readonly purges: string;
  /** Null: `purges` counts those of the types that the request names. */
  readonly names: ResultNames | null;
}

/** What the plugin graphql has found in a result. */
interface ResultNames {
  /** The types that the request named, separated by commas: if the config names others, the result is not used. */
  readonly types: string;
  /** The names on which the result depends. */
  readonly own: readonly string[];
}

/** Stored in place of a response that depends on headers of the request; `variantKey` makes that response's key. */
export interface Variants {
  /** Lower-case names, sorted. */
  readonly vary: readonly Lowercase<string>[];
}

export type CacheEntry = StoredResponse | Variants;

/** To be increased whenever the form in Redis changes, so that entries in another form are not found. */
const VERSION = 3;
const LENGTH_BYTES = 4;

const textSize = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + 2 * text.length + 16, 0);

/** The form in Redis: the length of a JSON text, the text, and the body. */
export const entryCodec: CacheCodec<CacheEntry> = {
  size: (entry) =>
    "vary" in entry
      ? textSize(entry.vary)
      : textSize([...entry.headers, ...(entry.names?.own ?? [])]) + entry.body.length,
  encode(entry) {
    const body = "vary" in entry ? Buffer.alloc(0) : entry.body;
    const text = Buffer.from(JSON.stringify({ version: VERSION, ...entry, body: undefined }));
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(text.length);
    return Buffer.concat([length, text, body]);
  },
  decode(bytes) {
    if (bytes.length < LENGTH_BYTES) return undefined;
    const end = LENGTH_BYTES + bytes.readUInt32BE();
    if (end > bytes.length) return undefined;
    return entryOf(parsed(bytes.toString("utf8", LENGTH_BYTES, end)), bytes.subarray(end));
  },
};

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function entryOf(value: unknown, body: Buffer): CacheEntry | undefined {
  if (!isRecord(value) || value.version !== VERSION) return undefined;
  const { vary, status, headers, timestamp, ttl, mustRevalidate, purges, names } = value;
  if (isTexts(vary)) return { vary: vary as Variants["vary"] };
  if (!isHeaders(headers) || !isStatus(status)) return undefined;
  if (typeof timestamp !== "number" || typeof ttl !== "number" || typeof mustRevalidate !== "boolean") return undefined;
  if (typeof purges !== "string" || !(names === null || isNames(names))) return undefined;
  return { status, headers, body, timestamp, ttl, mustRevalidate, purges, names };
}

const isNames = (value: unknown): value is ResultNames =>
  isRecord(value) && typeof value.types === "string" && isTexts(value.own);

/** Whether a value is the status of a final response (RFC 9110 section 15: not 1xx). */
const isStatus = (value: unknown): value is number =>
  typeof value === "number" && Number.isInteger(value) && value >= 200 && value <= 599;

/**
 * Whether a value is a list of header names and values in turn. Names are tokens, and values have no line ends (RFC
 * 9110 section 5), so that data in Redis cannot add headers.
 */
const isHeaders = (value: unknown): value is readonly string[] =>
  isTexts(value) &&
  value.length % 2 === 0 &&
  value.every((text, at) => (at % 2 === 0 ? /^[!#$%&'*+.^_`|~\w-]+$/ : /^[\t\x20-\x7e\x80-\xff]*$/).test(text));

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === "string");
