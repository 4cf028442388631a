import { deck, goKong, h2spec, openidServer } from "./clients.ts";
import { gatewayApiCrds, gatewayApiEcho, gatewayApiExperimentalCrds, gatewayApiSuite } from "./gateway-api.ts";
import {
  helm,
  kubeconform,
  kubernetesProgram,
  prometheusRuleCrd,
  serviceMonitorCrd,
} from "./kubernetes/kubernetes-tools.ts";
import { cniPlugins, containerd, coredns, nftables, pause } from "./node.ts";
import { fromApt } from "./obtain/apt.ts";
import { envoy, goReverseProxy, tlsClient } from "./proxies.ts";
import {
  certManager,
  certManagerCrds,
  externalDns,
  grpcInteropClient,
  grpcInteropServer,
  jsonSchemaSuite7,
  jsonSchemaSuite2020,
  keycloak,
  pebble,
  pebbleNames,
  prometheusServer,
  promtool,
} from "./public.ts";
import { pulumi } from "./pulumi.ts";

/** Prints a line of progress to stderr, separate from the output of a command. */
function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** Every tool that a suite may need, and how to obtain it. */
const tools = {
  "redis-server": fromApt({ commands: ["redis-server"], package: "redis-server", size: "about 2 MB" }),
  chromium: fromApt({
    commands: ["chromium", "chromium-browser", "google-chrome"],
    package: "chromium",
    size: "about 90 MB, a minute",
  }),
  nginx: fromApt({ commands: ["nginx"], package: "nginx", size: "about 2 MB" }),
  haproxy: fromApt({ commands: ["haproxy"], package: "haproxy", size: "about 2 MB" }),
  // The package installs slapd in a folder that is not on the PATH of every user.
  slapd: fromApt({ commands: ["slapd"], package: "slapd", path: "/usr/sbin", size: "about 2 MB" }),
  h2load: fromApt({ commands: ["h2load"], package: "nghttp2-client", size: "about 2 MB" }),
  nghttp: fromApt({ commands: ["nghttp"], package: "nghttp2-client", size: "about 2 MB" }),
  openssl: fromApt({ commands: ["openssl"], package: "openssl", size: "about 1 MB" }),
  wrk: fromApt({ commands: ["wrk"], package: "wrk", size: "about 1 MB" }),
  curl: fromApt({ commands: ["curl"], package: "curl", size: "about 1 MB" }),
  zsh: fromApt({ commands: ["zsh"], package: "zsh", size: "about 5 MB" }),
  fish: fromApt({ commands: ["fish"], package: "fish", size: "about 3 MB" }),
  java: fromApt({ commands: ["java"], package: "default-jre-headless", size: "about 50 MB" }),
  keycloak,
  "json-schema-suite-2020-12": jsonSchemaSuite2020,
  "json-schema-suite-7": jsonSchemaSuite7,
  prometheus: prometheusServer,
  promtool,
  "cert-manager": certManager,
  "cert-manager-crds": certManagerCrds,
  pebble,
  "pebble-names": pebbleNames,
  "external-dns": externalDns,
  "grpc-interop-client": grpcInteropClient,
  "grpc-interop-server": grpcInteropServer,
  envoy,
  "reverse-proxy": goReverseProxy,
  "tls-client": tlsClient,
  kube: kubernetesProgram,
  coredns,
  pause,
  containerd,
  nft: nftables,
  "cni-plugins": cniPlugins,
  deck,
  "go-kong": goKong,
  h2spec,
  "openid-server": openidServer,
  "gateway-api-suite": gatewayApiSuite,
  "gateway-api-echo": gatewayApiEcho,
  "gateway-api-crds": gatewayApiCrds,
  "gateway-api-experimental-crds": gatewayApiExperimentalCrds,
  pulumi,
  helm,
  kubeconform,
  "service-monitor-crd": serviceMonitorCrd,
  "prometheus-rule-crd": prometheusRuleCrd,
} satisfies Record<string, (say: (line: string) => void) => Promise<string>>;

export type ToolName = keyof typeof tools;

export const isToolName = (name: string): name is ToolName => Object.hasOwn(tools, name);

/**
 * The path of a tool's executable, or of a tool that is a file or folder of data. A missing tool is built or installed
 * first, with progress on stderr.
 *
 * @throws Error with the missing tool and the remedy, when it cannot be obtained.
 */
export function obtainTool(name: ToolName): Promise<string> {
  return tools[name](say);
}
