/** correlation-id: gives each request an id in a header (docs/reference/kong-compatibility.md#correlation-id). */
import {
  definePlugin,
  type Exchange,
  ExchangeValues,
  type HeaderEdit,
  HeaderName,
  lowerCase,
  setHeaderEdit,
} from "@sluice/plugin-sdk";
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

    /** Sets the header for the upstream unless the client sent it. The result sets it in the response. */
    function access(exchange: Exchange): HeaderEdit {
      const id = given(exchange);
      const edit = setHeaderEdit(header, id ?? generate(exchange.request, now));
      if (id === undefined) exchange.upstreamHeaders.apply(edit);
      return edit;
    }

    if (!echo_downstream) {
      return {
        access(exchange) {
          access(exchange);
          return undefined;
        },
      };
    }
    const edits = new ExchangeValues<HeaderEdit>();
    return {
      access(exchange) {
        edits.set(exchange, access(exchange));
        return undefined;
      },
      responseHeaders(exchange) {
        // The access phase has not run if another plugin answered first.
        const id = () => given(exchange) ?? generate(exchange.request, now);
        exchange.responseHeaders.apply(edits.get(exchange) ?? setHeaderEdit(header, id()));
      },
    };
  },
});
