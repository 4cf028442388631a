/** The commands about requests: those that the gateway has seen, and those that the command sends. */
import type { OptionDefinition } from "@sluice/model/command-line";
import { clientOptions, outputOptions } from "./options.ts";
import type { SluiceCommand } from "./sluice-command.ts";

const explain: SluiceCommand = {
  name: "explain",
  summary: "explains how a request would be routed and answered, or a connection forwarded, and why; sends nothing",
  description:
    "For a connection to a stream listener, the URL is tcp://ADDRESS:PORT without TLS, and tls://NAME:PORT (NAME is the " +
    "server name) or tls://ADDRESS:PORT with TLS. The port and the address are those of the node. The address matters " +
    "only if routes have destinations.",
  arguments: [
    { name: "METHOD", optional: true, description: "Method of the request (default: GET, or POST with --body)." },
    {
      name: "URL",
      description: "URL of the request or connection. Its port is taken as the port of the listener that receives it.",
    },
  ],
  options: {
    header: { short: "H", value: "HEADER", repeatable: true, description: "A header, such as 'apikey: abc'." },
    "client-address": { value: "ADDRESS", description: "Address of the client (default 127.0.0.1)." },
    "client-port": { value: "PORT", description: "Port of the client of a connection, if routes depend on it." },
    body: { value: "TEXT", description: "The body of the request; @FILE for the content of a file." },
    "body-size": { value: "BYTES", description: "Size of the body, if no body is given." },
    "http-version": { value: "VERSION", choices: ["1.1", "2"], description: "Version of HTTP (default 1.1)." },
    port: {
      value: "PORT",
      description:
        "Port of a Gateway's listener: the one that clients use, or the one that nodes open (default: the node's " +
        "own listeners).",
    },
    "server-name": { value: "NAME", description: "Server name of the TLS handshake (default: the host of the URL)." },
    size: { value: "NUMBER", description: "List this many routes, including those that do not match." },
    ...clientOptions("text", "yaml", "json"),
  },
  exitCodes: {
    3: "the gateway answers the request itself, or closes the connection",
    4: "the gateway cannot predict the result, for example because another server decides",
  },
  examples: [
    { line: "sluice explain GET http://shop.example/cart", effect: "shows the route and the plugins of a request" },
    { line: "sluice explain tls://mail.example:9443", effect: "shows the route and the plugins of a connection" },
    {
      line: "sluice explain POST http://shop.example/cart -H 'apikey: abc' --body '{}' --json",
      effect: "the explanation as the admin API returns it",
    },
  ],
  load: async () => (await import("../client/requests/explain.ts")).explainCommand,
};

/** A request that a command sends through the proxy. */
const requestOptions: Readonly<Record<string, OptionDefinition>> = {
  method: { short: "X", value: "METHOD", description: "Method (default: GET, or POST with --data)." },
  header: { short: "H", value: "HEADER", repeatable: true, description: "A header, such as 'apikey: abc'." },
  data: { short: "d", value: "TEXT", description: "Body of the request; @FILE for the content of a file." },
  "proxy-url": {
    value: "URL",
    description:
      "URL of the proxy, if it is not at the host and port of the request's URL. The request keeps its host.",
  },
  "proxy-cacert": {
    value: "FILE",
    description: "PEM file of the CAs that may issue the certificate of the proxy.",
  },
  "proxy-insecure": { description: "Do not verify the certificate of the proxy." },
};

const trace: SluiceCommand = {
  name: "trace",
  summary: "sends a request, and shows the decisions of the gateway and the duration of each step",
  description:
    "The request has a debug token that is valid for a minute. Redirects are not followed. The options --cacert, " +
    "--cert, --key and --insecure are for the admin API, not for the request.",
  arguments: [{ name: "URL", description: "URL of the request." }],
  options: {
    ...requestOptions,
    ...clientOptions("text", "yaml", "json"),
  },
  exitCodes: { 3: "the server that answered did not accept the debug token" },
  examples: [
    {
      line: "sluice trace http://shop.example/cart --proxy-url http://127.0.0.1:8000 -H 'apikey: abc'",
      effect: "sends a request to the proxy of this machine",
    },
    { line: "sluice trace https://shop.example/cart -d '{}' -H 'Content-Type: application/json'", effect: "a POST" },
  ],
  load: async () => (await import("../client/requests/trace.ts")).traceCommand,
};

const logs: SluiceCommand = {
  name: "logs",
  summary: "lists the refused, failed and slow requests, or follows the access log of all nodes",
  description:
    "A request has failed if its service answered with a status of 500 or above. Warnings about nodes that did not " +
    "answer, and about requests that are missing because there were too many, are written to standard error. The " +
    "format json prints one line for each request.",
  options: {
    follow: { short: "f", description: "Print all requests from now on, as they end." },
    route: { value: "NAME", description: "Only requests of this route (name or id)." },
    service: { value: "NAME", description: "Only requests of this service." },
    consumer: { value: "NAME", description: "Only requests of this consumer." },
    status: { value: "STATUS", description: "Only requests with this status, such as 404, or 4 for 400 to 499." },
    "min-latency": { value: "MILLISECONDS", description: "Only requests that took at least this long." },
    limit: { value: "NUMBER", description: "End after this many requests (default: 100, or no limit with --follow)." },
    ...clientOptions("text", "json"),
  },
  examples: [
    { line: "sluice logs --route shop", effect: "the refused, failed and slow requests of a route, with the reasons" },
    { line: "sluice logs --follow --status 5", effect: "prints each request that ends with a status of 500 or above" },
  ],
  load: async () => (await import("../client/requests/logs.ts")).logsCommand,
};

const top: SluiceCommand = {
  name: "top",
  summary: "shows rates, errors and latencies of requests, live on a terminal",
  description:
    "The figures are those of the last complete interval of ten seconds, summed over all nodes that answer. The command " +
    "names nodes that do not answer.",
  options: {
    by: {
      value: "SUBJECT",
      choices: ["routes", "services", "consumers", "operations"],
      default: "routes",
      description: "Whether requests are counted by route, service, consumer or operation.",
    },
    once: {
      description: "Print the figures once. Default if standard output is not a terminal, and for yaml and json.",
    },
    interval: { value: "SECONDS", default: "2", description: "Time between two readings." },
    size: { value: "NUMBER", default: "20", description: "Maximum number of rows." },
    ...clientOptions("table", "yaml", "json"),
  },
  examples: [
    { line: "sluice top", effect: "the routes with the most requests" },
    { line: "sluice top --by consumers --once", effect: "the consumers, once" },
    {
      line: "sluice top --by operations",
      effect: "the operations of GraphQL services that have the plugin graphql",
    },
  ],
  load: async () => (await import("../client/requests/top.ts")).topCommand,
};

const bench: SluiceCommand = {
  name: "bench",
  summary: "sends requests to one URL for a given time, and measures the responses",
  description:
    "With --rate, requests are due at fixed times, and a request that waits for a connection is measured from the " +
    "time at which it was due. Without --rate, each connection sends its next request after the previous response. " +
    "HTTP/1.1 is used, one process sends all requests, and redirects are not followed. The admin API is not used.",
  arguments: [{ name: "URL", description: "URL of the requests." }],
  options: {
    connections: {
      short: "c",
      value: "NUMBER",
      default: "10",
      description: "Number of connections. Each has one request at a time.",
    },
    seconds: { short: "s", value: "SECONDS", default: "10", description: "Time during which requests are sent." },
    rate: { short: "r", value: "NUMBER", description: "Requests per second. Default: as many as possible." },
    ...requestOptions,
    ...outputOptions("text", "yaml", "json"),
  },
  exitCodes: { 3: "at least one request got no complete response" },
  examples: [
    { line: "sluice bench http://127.0.0.1:8000/shop -H 'apikey: abc'", effect: "10 connections for 10 seconds" },
    {
      line: "sluice bench http://shop.example/shop --proxy-url http://127.0.0.1:8000 --rate 500 --seconds 60",
      effect: "the latencies at 500 requests per second",
    },
  ],
  load: async () => (await import("../client/requests/bench.ts")).benchCommand,
};

export const requestCommands: readonly SluiceCommand[] = [explain, trace, logs, top, bench];
