/** Requests to the admin API of the page's own origin, with the caller's token. */

/** The page is at `<prefix>/console/`, and the admin API at `<prefix>/`. */
const urlOf = (path: string): URL => new URL(`../${path}`, document.baseURI);

const KEY = "sluice-console-token";

/** An error response of the admin API. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  constructor(status: number, body: Readonly<Record<string, unknown>>) {
    super(typeof body.message === "string" ? body.message : `the admin API answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

export interface ApiResponse<Body> {
  readonly body: Body;
  readonly headers: Headers;
}

interface ApiRequest {
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

type Listener = () => void;
const listeners = new Set<Listener>();

/**
 * The token is kept for this tab only, and is sent in a header only. Session storage survives a reload of the page,
 * and is empty in a new tab.
 */
export const signedInToken = (): string | null => sessionStorage.getItem(KEY);

export function keepToken(token: string | null): void {
  if (token === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, token);
}

/** Calls the listener whenever the admin API refuses the token. Returns a function that removes the listener. */
export function onUnauthorized(listener: Listener): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Sends a request. @throws ApiError for an error response; TypeError when the listener cannot be reached. */
export async function requestAdmin(
  path: string,
  { method = "GET", json, headers, signal }: ApiRequest = {},
): Promise<Response> {
  const token = signedInToken();
  const response = await fetch(urlOf(path), {
    method,
    headers: {
      ...(token !== null && { Authorization: `Bearer ${token}` }),
      ...(json !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
    ...(signal && { signal }),
    cache: "no-store",
    redirect: "error",
  });
  if (response.ok) return response;
  if (response.status === 401) for (const listener of listeners) listener();
  const body: unknown = await response.json().catch(() => ({}));
  throw new ApiError(response.status, Object(body));
}

/** Sends a request, and parses the JSON of the response; undefined if there is none. */
export async function requestJson<Body>(path: string, request: ApiRequest = {}): Promise<ApiResponse<Body>> {
  const response = await requestAdmin(path, request);
  const text = await response.text();
  return { body: (text === "" ? undefined : JSON.parse(text)) as Body, headers: response.headers };
}

export const read = async <Body>(path: string, signal?: AbortSignal): Promise<Body> =>
  (await requestJson<Body>(path, signal ? { signal } : {})).body;

/** The path with its segments encoded: names may contain any character. */
export const encodedPath = (...segments: readonly string[]): string => segments.map(encodeURIComponent).join("/");

/** What a failure means to the user. */
export const failureText = (error: unknown): string => {
  if (error instanceof ApiError) return error.message;
  if (error instanceof TypeError)
    return "The admin listener does not respond. Check that it runs and that this machine can reach it.";
  return String(error);
};
