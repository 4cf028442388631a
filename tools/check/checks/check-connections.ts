import ts from "typescript";
import type { Fault } from "../fault.ts";
import { type Import, packageOf } from "../find-imports.ts";
import { isTest } from "../imports.ts";
import type { CheckedFile } from "../source-files.ts";

/** The folder of the code that connects to configured addresses. Connections must pass the guard (`guardedConnect`). */
const folder = "gateway/";

/** Of each network module, the exports that open no connection. An import of any other value from it is reported. */
const harmless: Readonly<Record<string, readonly string[]>> = {
  "node:net": ["isIP", "isIPv4", "isIPv6", "BlockList", "SocketAddress", "Server", "createServer"],
  "node:tls": ["createSecureContext", "rootCertificates", "getCACertificates", "getCiphers", "TLSSocket"],
  "node:http": [
    "STATUS_CODES",
    "METHODS",
    "validateHeaderName",
    "validateHeaderValue",
    "createServer",
    "ServerResponse",
  ],
  "node:https": ["createServer"],
  "node:http2": ["constants", "createServer", "createSecureServer"],
  "node:dgram": [],
  undici: [],
  ioredis: [],
  pg: [],
  ws: [],
  "openid-client": [],
  "@grpc/grpc-js": [],
  "@opentelemetry/exporter-trace-otlp-http": [],
};

const guardedConnect = "src/outbound/connect.ts";
const settings = "the destination comes from the process's settings, not from configuration";
const nodes = "its destinations are the status listeners of nodes, which configuration cannot name";

/** Files that the check skips, by their paths inside `folder`, with the reasons. A folder's path ends in a slash. */
const exceptions: Readonly<Record<string, string>> = {
  [guardedConnect]: "it is the one place that opens connections, after the guard has checked their address",
  "src/outbound/datagrams.ts": "it sends datagrams itself, after the guard has checked their address",
  "plugins/openid-connect/provider-client.ts": "its requests use the HTTP client of the plugin SDK",
  "src/proxy/upstream/probe.ts": `its requests use connections from ${guardedConnect}`,
  "src/proxy/reply-from/undici-pools.ts": `undici gets its connections from ${guardedConnect}`,
  "src/counters/redis/redis-connections.ts": `ioredis gets its connections from ${guardedConnect}`,
  "src/proxy/sockets/node-internals.ts": "its sockets are never connected",
  "src/peers/peer-network.ts": "its destinations are the nodes of the fleet, which configuration cannot name",
  "src/peers/roster-exchange.ts": "its destinations are those of the setting SLUICE_PEERS",
  "src/proxy/observability/tracing/tracing.ts": settings,
  "src/database/": settings,
  "src/plugin-harness/": "it connects to the proxy that it has started, in tests of plugins",
  "src/stores/resources/operator-client.ts": settings,
  "src/admin/entities/target-health.ts": nodes,
  "src/admin/information/nodes/node-metrics.ts": nodes,
  "src/admin/information/nodes/node-problems.ts": nodes,
  "src/proxy/response/reason-phrases.ts": "it loads node:http only for the reason phrases, without an import",
  "src/sources/push/push-server.ts": "it loads node:http only for `createServer`, without an import",
  "src/commands/client/admin-connection.ts": "its destination is a setting of the command",
  "src/commands/client/requests/bench.ts": "its destination is an argument of the command",
  "src/commands/client/requests/trace.ts": "its destination is an argument of the command",
  "console/src/api/client.ts": "it runs in a browser, and asks the listener that the page came from",
  "src/commands/migrate/read-admin.ts": "its destination is an argument of the command",
  "src/status/server.ts": "it loads node:http only for `createServer`, without an import",
};

/** Functions and classes, including members of objects, that open connections or load modules without an import. */
const globals = /^(?:fetch|WebSocket|EventSource|getBuiltinModule|require|createRequire)$/;

/** Finds imports and calls with which code of the gateway could open connections that do not pass the guard. */
export function checkConnections(imports: readonly Import[], files: readonly CheckedFile[]): readonly Fault[] {
  const because = `can open connections that bypass the guard: use ${folder}${guardedConnect}, or name the file in check-connections.ts`;
  return [
    ...imports
      .filter(({ file }) => isChecked(file))
      .flatMap(({ file, line, specifier, names }): Fault[] => {
        const allowed = harmless[specifier] ?? harmless[packageOf(specifier) ?? ""];
        if (allowed === undefined || names?.every((name) => allowed.includes(name))) return [];
        return [{ file, line, message: `imports from ${specifier}, which ${because}` }];
      }),
    ...files.filter(({ path }) => path.endsWith(".ts") && isChecked(path)).flatMap((file) => globalsOf(file, because)),
  ];
}

function isChecked(path: string): boolean {
  if (!path.startsWith(folder) || isTest(path)) return false;
  const inside = path.slice(folder.length);
  return !Object.keys(exceptions).some((each) => (each.endsWith("/") ? inside.startsWith(each) : inside === each));
}

function globalsOf({ path, text }: CheckedFile, because: string): readonly Fault[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext);
  const found: Fault[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) || ts.isNewExpression(node)) {
      const { expression } = node;
      const name = ts.isPropertyAccessExpression(expression) ? expression.name.text : textOf(expression);
      if (globals.test(name)) {
        const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
        found.push({ file: path, line, message: `calls ${name}, which ${because}` });
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

const textOf = (node: ts.Expression): string => (ts.isIdentifier(node) ? node.text : "");
