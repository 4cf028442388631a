/**
 * How a tracing plugin reads the trace headers of a request and sets those that the upstream receives: Kong's member
 * `propagation`, and older members for the same purpose.
 */
import type { Exchange } from "../exchange/exchange.ts";
import { array, choice, nullable, record, text } from "../schema/member.ts";
import { extractContext, type ReceivedContext } from "./extract.ts";
import { injectedHeaders } from "./inject.ts";
import {
  type ReceivedFormat,
  receivedFormats,
  type TraceContext,
  type TraceFormat,
  traceFormats,
} from "./trace-context.ts";

const MAX_HEADERS = 64;

/** The schema of the member `propagation`. */
export const propagationSettings = (defaultFormat: TraceFormat) =>
  record(
    {
      extract: nullable(
        array(choice(receivedFormats, { description: "A format." }), {
          description:
            "Formats in which the context of a trace is read; the first one found is used. Unset: each request " +
            "begins a trace.",
          maxItems: MAX_HEADERS,
        }),
      ),
      clear: nullable(
        array(text({ description: "A name.", maxLength: 256, rule: "header-name" }), {
          description: "Headers that are removed from the request after the context has been read.",
          maxItems: MAX_HEADERS,
        }),
      ),
      inject: nullable(
        array(choice(["preserve", ...traceFormats], { description: "A format." }), {
          description:
            "Formats in which the upstream receives the context. `preserve` is the format in which it was read. " +
            "Unset: no header is set.",
          maxItems: MAX_HEADERS,
        }),
      ),
      default_format: choice(traceFormats, {
        description: "The format of `preserve` if no context was found.",
        default: defaultFormat,
      }),
    },
    {
      description:
        "Trace headers that are read and set. If one of `extract`, `clear` and `inject` is set, `header_type` has no effect.",
      default: {},
    },
  );

/** Values of the deprecated member `header_type`. */
export const headerTypes = ["preserve", "ignore", ...traceFormats] as const;

export interface PropagationConfig {
  readonly header_type: (typeof headerTypes)[number] | null;
  readonly default_header_type?: TraceFormat;
  readonly propagation: {
    readonly extract: readonly ReceivedFormat[] | null;
    readonly clear: readonly string[] | null;
    readonly inject: readonly (TraceFormat | "preserve")[] | null;
    readonly default_format: TraceFormat;
  };
}

export interface Propagation {
  readonly extract: readonly ReceivedFormat[];
  readonly clear: readonly string[];
  readonly inject: readonly (TraceFormat | "preserve")[];
  readonly defaultFormat: TraceFormat;
}

/** The order in which Kong reads formats for `header_type`. */
const ORDER: readonly ReceivedFormat[] = ["b3", "w3c", "jaeger", "ot", "datadog", "aws", "gcp"];

export function propagationOf({ header_type, default_header_type, propagation }: PropagationConfig): Propagation {
  const { extract, clear, inject, default_format: defaultFormat } = propagation;
  if (extract !== null || clear !== null || inject !== null) {
    return { extract: extract ?? [], clear: clear ?? [], inject: inject ?? [], defaultFormat };
  }
  const common = { extract: ORDER, clear: [], defaultFormat: default_header_type ?? defaultFormat };
  if (header_type === null) return { ...common, extract: [], inject: [] };
  if (header_type === "preserve") return { ...common, inject: ["preserve"] };
  if (header_type === "ignore") return { ...common, extract: [], inject: [common.defaultFormat] };
  return { ...common, inject: ["preserve", header_type] };
}

export const receivedContext = ({ request }: Exchange, { extract }: Propagation): ReceivedContext | null =>
  extractContext(request, extract);

/** Removes and sets trace headers of the request to the upstream, and logs the trace id in each format that was set. */
export function propagate(
  exchange: Exchange,
  { clear, inject, defaultFormat }: Propagation,
  {
    context,
    received,
  }: {
    readonly context: TraceContext & { readonly traceId: string; readonly spanId: string };
    readonly received: ReceivedContext | null;
  },
): void {
  for (const name of clear) exchange.upstreamHeaders.remove(name);
  for (const chosen of inject) {
    const format = chosen === "preserve" ? (received?.format ?? defaultFormat) : chosen;
    const { headers, loggedId } = injectedHeaders(context, format);
    for (const [name, value] of Object.entries(headers)) exchange.upstreamHeaders.set(name, value);
    exchange.setLogField(`trace_id.${loggedId.name}`, loggedId.value);
  }
}
