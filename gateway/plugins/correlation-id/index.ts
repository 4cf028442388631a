/** correlation-id: gives each request an id in a header (docs/reference/kong-compatibility.md#correlation-id). */
import { definePlugin, type Exchange, HeaderName, lowerCase } from "@sluice/plugin-sdk";
import { generators } from "./generators.ts";
import { correlationIdFacts } from "./schema.ts";

export const correlationId = definePlugin({
  ...correlationIdFacts,
  phases({ header_name, generator, echo_downstream }, { now }) {
    const header = new HeaderName(header_name);
    const lower = lowerCase(header_name);
    const generate = generators[generator];

    /** The id that the client sent; of several the first, as in Kong. Undefined: there is none, or it is empty. */
    const given = ({ request }: Exchange) => request.headerValues(lower)[0] || undefined;

    function access(exchange: Exchange): string {
      const id = given(exchange);
      if (id !== undefined) return id;
      const generated = generate(exchange.request, now);
      exchange.upstreamHeaders.set(header, generated);
      return generated;
    }

    if (!echo_downstream) {
      return {
        access(exchange) {
          access(exchange);
          return undefined;
        },
      };
    }
    const ids = new WeakMap<Exchange, string>();
    return {
      access(exchange) {
        ids.set(exchange, access(exchange));
        return undefined;
      },
      responseHeaders(exchange) {
        // The access phase has not run if another plugin answered first.
        const id = ids.get(exchange) ?? given(exchange) ?? generate(exchange.request, now);
        exchange.responseHeaders.set(header, id);
      },
    };
  },
});
