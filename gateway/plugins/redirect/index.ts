/** redirect: redirects requests to another URL (docs/reference/kong-compatibility.md#redirect). */
import { type DirectResponse, definePlugin, type ExchangeRequest, headerValue } from "@sluice/plugin-sdk";
import { redirectFacts } from "./schema.ts";

const TEXT = "redirecting";

export const redirect = definePlugin({
  ...redirectFacts,
  phases({ status_code: status, location, keep_incoming_path: keep }) {
    const fixed = headerValue(location);

    /** The URL to redirect to. The setters of `URL` encode or remove invalid characters, and never change the host. */
    function locationOf({ path, query }: ExchangeRequest): string {
      if (!keep) return fixed;
      const url = new URL(location);
      url.pathname = path;
      url.search = query;
      return url.href;
    }

    return {
      access({ request }): DirectResponse {
        const headers = { Location: locationOf(request) };
        // A gRPC client reads the text from a header.
        const isGrpc = request.header("content-type")?.startsWith("application/grpc") === true;
        return isGrpc ? { status, headers, message: TEXT } : { status, headers, body: TEXT };
      },
    };
  },
});
