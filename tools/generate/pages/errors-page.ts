/** Generates the reference page of the gateway's own error responses from their table. */
import { type GeneratedFile, generatedPage } from "../../../crds/model/src/generate/files.ts";
import { type GatewayError, gatewayErrors } from "../../../gateway/src/exchange/gateway-errors.ts";

const intro = `# Errors

This page lists the responses that the gateway itself sends instead of an upstream's response. Their body has a \`message\` and the \`request_id\`, which is also the header \`X-Sluice-Request-Id\`; the format follows the request's \`Accept\`. In the access log and in metrics, the \`source\` of these responses is \`gateway\`; the \`source\` of an upstream's response is \`service\`. Clients never see how the gateway is configured: the reason is in the node's log under the same \`requestId\`, at most once in ten seconds for each worker, route and reason.

[Explain a request](../how-to/explain-a-request.md) shows how to find the reason without sending the request, and [\`GET /requests\`](../how-to/find-refused-requests.md) lists the last requests that were refused, with their reasons. [Troubleshoot](../how-to/troubleshoot.md) begins with symptoms instead of statuses.`;

const plugins = `## Responses of plugins

Plugins answer with statuses of their own; the page of the [plugin](plugins.md) describes them.

| status | plugins |
|---|---|
| 400 | [request-validator](plugins/request-validator.md) (the body or a parameter is invalid), [standard-webhooks](plugins/standard-webhooks.md), [bot-detection](plugins/bot-detection.md), [grpc-web](plugins/grpc-web.md), [request-transformer](plugins/request-transformer.md), [openid-connect](plugins/openid-connect.md) (an invalid logout token), [graphql](plugins/graphql.md) (a document that is malformed or beyond a limit) |
| 401 | the authentication plugins, such as [key-auth](plugins/key-auth.md) and [jwt](plugins/jwt.md): no credential, or an invalid one. [acl](plugins/acl.md): no plugin has identified a consumer |
| 403 | [acl](plugins/acl.md), [forward-auth](plugins/forward-auth.md), [ip-restriction](plugins/ip-restriction.md), [bot-detection](plugins/bot-detection.md), [openid-connect](plugins/openid-connect.md): the client is not admitted. Behind a load balancer, ip-restriction sees the address of the balancer unless \`SLUICE_TRUSTED_IPS\` lists it ([symptoms](../how-to/troubleshoot.md)). [graphql](plugins/graphql.md): introspection, a document that is not trusted, or a WebSocket |
| 405, 415 | [graphql](plugins/graphql.md): a method or media type that is not allowed |
| 411, 417 | [request-size-limiting](plugins/request-size-limiting.md) |
| 413 | [request-size-limiting](plugins/request-size-limiting.md); [forward-auth](plugins/forward-auth.md), [graphql](plugins/graphql.md), [grpc-web](plugins/grpc-web.md), [request-transformer](plugins/request-transformer.md), [request-validator](plugins/request-validator.md) and [standard-webhooks](plugins/standard-webhooks.md), if the body is larger than the plugin may read |
| 421 | [mtls-auth](plugins/mtls-auth.md): the connection was opened when no plugin required a certificate for its server name |
| 429 | [rate-limiting](plugins/rate-limiting.md), [response-ratelimiting](plugins/response-ratelimiting.md), [concurrency-limiting](plugins/concurrency-limiting.md) |
| 500 | [forward-auth](plugins/forward-auth.md) with \`request_style: nginx\`: the authorization server does not answer, or answers with another status than 2xx, 401 and 403. The node's log has the \`reason\` |
| 503 | [forward-auth](plugins/forward-auth.md), [openid-connect](plugins/openid-connect.md), [basic-auth](plugins/basic-auth.md): a server that the plugin asks does not answer, or the node is overloaded. The node's log has the \`reason\` |
| 504 | [proxy-cache](plugins/proxy-cache.md): \`Cache-Control: only-if-cached\`, and nothing is cached |
| any | [request-termination](plugins/request-termination.md), [forward-auth](plugins/forward-auth.md) (the response of its server), plugins of your own |`;

export function errorsPage(errors: Readonly<Record<string, GatewayError>> = gatewayErrors): GeneratedFile {
  const sections = Object.values(errors)
    .toSorted((one, other) => one.status - other.status)
    .map(section);
  const content = [intro, ...sections, plugins].join("\n\n");
  return generatedPage("docs/reference/errors.md", content, "gateway/src/exchange/gateway-errors.ts");
}

function section({ status, message, headers = {}, cause, evidence, cure }: GatewayError): string {
  const fields = Object.entries(headers).map(([name, value]) => `\`${name}: ${value}\``);
  const points = [
    `- **Where to look:** ${evidence}.`,
    `- **What to change:** ${cure}`,
    ...(fields.length === 0 ? [] : [`- **Further headers:** ${fields.join(", ")}.`]),
  ];
  return `## ${status} ${message}\n\n${cause}\n\n${points.join("\n")}`;
}
