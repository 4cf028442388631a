/**
 * The web console: files that `npm run build` makes from gateway/console. They hold no configuration, so they are served
 * without authentication; the page sends the caller's token with each request to the admin API.
 */
import { negotiateCoding } from "@sluice/plugin-sdk";
import { CONSOLE_URLS } from "../access/authorizer.ts";
import type { AdminContext } from "../context.ts";
import type { AdminRoute } from "../entities/routes.ts";
import { HttpError, notFound } from "../http/errors.ts";
import { isNotModified, readPreconditions } from "../http/preconditions.ts";
import type { AdminRequest, AdminResponse } from "../requests.ts";
import { type ConsoleFile, readConsoleFiles } from "./files.ts";

/**
 * The page loads files from this listener only. `frame-ancestors`: another site could otherwise frame the page and make users
 * click on it. `require-trusted-types-for`: the page never turns text into markup.
 */
const POLICY = [
  "default-src 'none'",
  ...["script-src", "style-src", "img-src", "connect-src"].map((directive) => `${directive} 'self'`),
  ...["base-uri", "form-action", "frame-ancestors"].map((directive) => `${directive} 'none'`),
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
};

/** The URLs of the console; none if it is off. */
export function consoleRoutes({ settings }: Pick<AdminContext, "settings">): readonly AdminRoute[] {
  const { console: mode } = settings;
  if (mode === "off") return [];
  const GET = async (received: AdminRequest) => answer(received, mode);
  return CONSOLE_URLS.map((url) => ({ url, handlers: { GET } }));
}

async function answer(received: AdminRequest, mode: string): Promise<AdminResponse> {
  const name = received.params["*"] ?? "";
  // Relative: a proxy may serve the listener below a prefix that only the browser knows.
  if (name === "" && !received.endsInSlash)
    return { status: 308, headers: { ...SECURITY_HEADERS, Location: "console/" } };
  if (name === "settings.json") {
    const headers = { ...SECURITY_HEADERS, "Cache-Control": "no-store" };
    return { status: 200, headers, body: { read_only: mode === "read-only" } };
  }
  const files = readConsoleFiles();
  if (files === null) throw new HttpError(404, { message: "the console is not built: run 'npm run build'" });
  const file = files.get(name === "" ? "index.html" : name);
  if (file === undefined) throw notFound();
  return answerFile(received, file);
}

function answerFile({ headers: asked }: AdminRequest, file: ConsoleFile): AdminResponse {
  const accepted = [asked["accept-encoding"] ?? []].flat();
  const best = negotiateCoding(
    accepted,
    file.codings.map(({ name }) => name),
  );
  const coding = file.codings.find(({ name }) => name === best);
  const tag = coding ? `${file.tag}-${coding.name}` : file.tag;
  const headers = {
    ...SECURITY_HEADERS,
    "Content-Type": file.type,
    // The names of assets contain a hash of their content.
    "Cache-Control": file.isHashed ? "public, max-age=31536000, immutable" : "no-cache",
    ETag: `"${tag}"`,
    Vary: "Accept-Encoding",
    ...(coding && { "Content-Encoding": coding.name }),
  };
  if (isNotModified(readPreconditions(asked), tag)) return { status: 304, headers };
  return { status: 200, headers, body: coding?.bytes ?? file.bytes };
}
