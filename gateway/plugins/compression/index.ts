/** compression: compresses responses (docs/reference/plugins/compression.md). */
import type { Transform } from "node:stream";
import { constants, createBrotliCompress, createGzip, createZstdCompress } from "node:zlib";
import { definePlugin, type Exchange, isEncoded, negotiateCoding } from "@sluice/plugin-sdk";
import { type CompressionConfig, compressionFacts } from "./schema.ts";

type Coding = CompressionConfig["encodings"][number];

/** Responses that a worker compresses at a time: each of them needs up to 2 MB. */
const MOST_STREAMS = 128;
let streams = 0;

const PARTIAL_CONTENT = 206;
const NO_TRANSFORM = /(?:^|,)\s*no-transform\s*(?:,|$)/i;

/** Levels that compress well at a moderate cost, and windows that limit the memory. */
const GZIP_LEVEL = 5;
const BROTLI_QUALITY = 4;
const ZSTD_LEVEL = 3;
const WINDOW_BITS = 18;

/** @param isFlushed Whether each piece of the body leaves at once, because the upstream may pause after it */
function createCompressor(coding: Coding, isFlushed: boolean): Transform {
  if (coding === "gzip") {
    return createGzip({ level: GZIP_LEVEL, flush: isFlushed ? constants.Z_SYNC_FLUSH : constants.Z_NO_FLUSH });
  }
  if (coding === "br") {
    return createBrotliCompress({
      params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_LGWIN]: WINDOW_BITS },
      flush: isFlushed ? constants.BROTLI_OPERATION_FLUSH : constants.BROTLI_OPERATION_PROCESS,
    });
  }
  return createZstdCompress({
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL, [constants.ZSTD_c_windowLog]: WINDOW_BITS },
    flush: isFlushed ? constants.ZSTD_e_flush : constants.ZSTD_e_continue,
  });
}

const has = (exchange: Exchange, name: Lowercase<string>): boolean => exchange.responseHeaderValues(name).length > 0;

/** Edits the headers of a response whose body is compressed. */
function describe(exchange: Exchange, coding: Coding): void {
  const { responseHeaders } = exchange;
  responseHeaders.set("Content-Encoding", coding);
  const [tag] = exchange.responseHeaderValues("etag");
  // The bytes differ from those that the tag identifies (RFC 9110 section 8.8.3).
  if (tag?.startsWith('"')) responseHeaders.set("ETag", `W/${tag}`);
  for (const name of ["Accept-Ranges", "Content-Digest", "Digest", "Content-MD5"]) responseHeaders.remove(name);
}

export const compression = definePlugin({
  ...compressionFacts,
  phases({ encodings, types, min_length, credentials }) {
    const compressed = new Set(types.map((type) => type.toLowerCase()));

    function isCandidate(exchange: Exchange): boolean {
      const [type = "", ...more] = exchange.responseHeaderValues("content-type");
      const [length] = exchange.responseHeaderValues("content-length");
      if (more.length > 0 || !compressed.has((type.split(";")[0] ?? "").trim().toLowerCase())) return false;
      if (length !== undefined && Number(length) < min_length) return false;
      if (exchange.status === PARTIAL_CONTENT || has(exchange, "content-range")) return false;
      if (isEncoded(exchange.responseHeaderValues("content-encoding"))) return false;
      if (exchange.responseHeaderValues("cache-control").some((value) => NO_TRANSFORM.test(value))) return false;
      if (credentials) return true;
      const { request } = exchange;
      const isPrivate = request.header("authorization") !== undefined || request.header("cookie") !== undefined;
      return !isPrivate && !has(exchange, "set-cookie");
    }

    return {
      responseBody(exchange) {
        if (!isCandidate(exchange)) return null;
        const { request, responseHeaders } = exchange;
        const varies = exchange
          .responseHeaderValues("vary")
          .join(",")
          .toLowerCase()
          .split(/[\s,]+/);
        if (!varies.includes("accept-encoding") && !varies.includes("*")) {
          responseHeaders.append("Vary", "Accept-Encoding");
        }
        const coding = negotiateCoding(request.headerValues("accept-encoding"), encodings);
        if (coding === null || streams >= MOST_STREAMS) return null;
        const isFlushed = !has(exchange, "content-length");
        return {
          transform() {
            describe(exchange, coding);
            const stream = createCompressor(coding, isFlushed);
            streams++;
            stream.once("close", () => streams--);
            return stream;
          },
        };
      },
    };
  },
});
