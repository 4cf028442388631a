/** standard-webhooks: accepts signed webhooks only (docs/reference/kong-compatibility.md#standard-webhooks). */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type DirectResponse, definePlugin } from "@sluice/plugin-sdk";
import { standardWebhooksFacts } from "./schema.ts";

/** Maximum bytes of a body, because it is buffered. */
const MAX_BODY = 1024 * 1024;
/** Maximum signatures in a header: a sender that changes its secret sends two. */
const MAX_SIGNATURES = 16;

const badRequest: DirectResponse = { status: 400, message: "Bad request" };
const tooLarge: DirectResponse = { status: 413, message: "Payload too large" };

/** Unix seconds. Longer numbers would lose digits in Kong. */
const TIMESTAMP = /^\d{1,14}$/;

function isEqual(signature: string, expected: Buffer): boolean {
  const bytes = Buffer.from(signature);
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

export const standardWebhooks = definePlugin({
  ...standardWebhooksFacts,
  phases({ secret_v1: secret, tolerance_second: tolerance }, context) {
    return {
      async access({ request }) {
        const [id, ...otherIds] = request.headerValues("webhook-id");
        const [timestamp = "", ...otherTimestamps] = request.headerValues("webhook-timestamp");
        const [signatures] = request.headerValues("webhook-signature");
        if (id === undefined || signatures === undefined || !TIMESTAMP.test(timestamp)) return badRequest;
        // If a header is repeated, the upstream could use the value that is not signed, and so fail to recognize a
        // repeated message.
        if (otherIds.length > 0 || otherTimestamps.length > 0) return badRequest;
        if (context.now() / 1000 - Number(timestamp) > tolerance) return badRequest;
        const body = await request.body(MAX_BODY);
        if (body === null) return tooLarge;
        if (body.length === 0) return badRequest;
        const hmac = createHmac("sha256", secret)
          .update(`${id}.${Number(timestamp)}.`, "latin1")
          .update(body);
        const expected = Buffer.from(`v1,${hmac.digest("base64")}`);
        const isSigned = signatures.split(" ", MAX_SIGNATURES).some((signature) => isEqual(signature, expected));
        return isSigned ? undefined : badRequest;
      },
    };
  },
});
