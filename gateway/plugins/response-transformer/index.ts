/** response-transformer: changes responses before they are sent (docs/reference/kong-compatibility.md). */
import { type BodyFilter, definePlugin, type Exchange, isEncoded } from "@sluice/plugin-sdk";
import { JsonChanges } from "./body.ts";
import { HeaderChanges } from "./headers.ts";
import { responseTransformerFacts } from "./schema.ts";

/** Maximum bytes of a body to be changed: the whole body is buffered. */
const MAX_BODY = 8 * 1024 * 1024;

/** `application/json`, and `application` types with the suffix `+json`. A header may list several types. */
const JSON_TYPE = /(?:^|,)\s*application\/(?:[^\s;,/]*\+)?json\s*(?:$|[;,])/i;

const isJson = (exchange: Exchange): boolean =>
  exchange.responseHeaderValues("content-type").some((type) => JSON_TYPE.test(type));

export const responseTransformer = definePlugin({
  ...responseTransformerFacts,
  phases(config) {
    const headers = new HeaderChanges(config);
    const json = new JsonChanges(config);
    const filter: BodyFilter = { limit: MAX_BODY, longer: "refused", whole: (body) => json.apply(body) };
    return {
      responseHeaders: (exchange) => headers.apply(exchange),
      ...(!json.isEmpty && {
        responseBody: (exchange: Exchange) =>
          isJson(exchange) && !isEncoded(exchange.responseHeaderValues("content-encoding")) ? filter : null,
      }),
    };
  },
});
