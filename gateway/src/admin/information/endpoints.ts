/** GET /endpoints: all URLs that the listener answers, by segments (kong-contract 1.6). */

/** @param urls As they are served: `/services/:entity`. */
export const endpointsBody = (urls: readonly string[]): object => ({
  data: [...new Set(urls.filter((url) => !url.endsWith("*")).map(shown))].sort(bySegments),
});

/** `/services/{services}/routes/{routes}`: a parameter has the name of the list that it chooses from. */
function shown(url: string): string {
  const segments = url.split("/");
  return segments
    .map((segment, index) => (/^:(entity|child)$/.test(segment) ? `{${segments[index - 1]}}` : braced(segment)))
    .join("/");
}

const braced = (segment: string): string => segment.replace(/^:(.+)$/, "{$1}");

/** What is below an URL stands right after it. */
function bySegments(one: string, other: string): number {
  const [a, b] = [one.replaceAll("/", "\0"), other.replaceAll("/", "\0")];
  return a < b ? -1 : 1;
}
