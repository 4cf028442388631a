/** Chooses the media type of a response (GraphQL over HTTP, "Media Types"). */

export const GRAPHQL_RESPONSE = "application/graphql-response+json";
export const JSON_TYPE = "application/json";
export type MediaType = typeof GRAPHQL_RESPONSE | typeof JSON_TYPE;

interface Range {
  readonly type: string;
  readonly quality: number;
}

function rangesOf(accept: string): readonly Range[] {
  return accept.split(",").map((item) => {
    const [type = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    return { type, quality: quality === undefined ? 1 : Number(quality) || 0 };
  });
}

/** The quality of the most specific range that matches the type (RFC 9110, section 12.5.1); 0 if no range matches. */
function qualityOf(type: MediaType, ranges: readonly Range[]): number {
  for (const name of [type, "application/*", "*/*"]) {
    const range = ranges.find((one) => one.type === name);
    if (range !== undefined) return range.quality;
  }
  return 0;
}

/**
 * The media type of a response. Null: the client accepts neither of our types. Clients without a preference get
 * `application/json`, because they may be older than `application/graphql-response+json`. At equal quality the latter
 * wins if the client names it.
 */
export function mediaTypeOf(accept: string | undefined): MediaType | null {
  if (accept === undefined || accept.trim() === "") return JSON_TYPE;
  const ranges = rangesOf(accept);
  const named = ranges.some(({ type }) => type === GRAPHQL_RESPONSE);
  const [json, response] = [qualityOf(JSON_TYPE, ranges), named ? qualityOf(GRAPHQL_RESPONSE, ranges) : 0];
  if (response > 0 && response >= json) return GRAPHQL_RESPONSE;
  return json > 0 ? JSON_TYPE : null;
}

const EVENTS = "text/event-stream";

/**
 * Whether the client wants server-sent events: `Accept` must name their type, and must not name another known type with
 * a higher quality, or earlier with the same quality. Clients like urql list all types that they know, JSON first.
 */
export function wantsEventStream(accept: string | undefined): boolean {
  if (accept === undefined || !/text\/event-stream/i.test(accept)) return false;
  const known: readonly string[] = [EVENTS, GRAPHQL_RESPONSE, JSON_TYPE, "application/*", "*/*"];
  const [best] = rangesOf(accept)
    .filter(({ type, quality }) => known.includes(type) && quality > 0)
    .toSorted((one, other) => other.quality - one.quality);
  return best?.type === EVENTS;
}
