/** Programs and data that only `npm run test:public` needs. */
import { join } from "node:path";
import { fromGo } from "./obtain/go.ts";
import { fromMaven } from "./obtain/maven.ts";
import { fromModule } from "./obtain/module-file.ts";

const clients = join(import.meta.dirname, "../../test/clients");
const suites = join(clients, "json-schema-suites");

export const KEYCLOAK_VERSION = "26.7.3";

/** The identity provider Keycloak, for a database in memory and one node. It needs Java 17 or newer. */
export const keycloak = fromMaven({
  name: "keycloak",
  artifact: `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}`,
  sha256: "77657f30b7e90d70f727712ce1c967f430fd6a5e9f458d32d8c6df0635345f47",
  executable: "bin/kc.sh",
  // Otherwise Keycloak would run this build when it first starts, and change the installed files.
  prepare: ["build", "--db=dev-mem", "--cache=local"],
  size: "about 180 MB",
});

export const PROMETHEUS_VERSION = "3.16.0";

const prometheusModule = {
  module: join(clients, "prometheus"),
  // Without service discovery for clouds, whose client libraries are most of the program. Files and URLs remain.
  tags: ["remove_all_sd"],
};

export const prometheusServer = fromGo({
  ...prometheusModule,
  name: "prometheus",
  package: "github.com/prometheus/prometheus/cmd/prometheus",
  what: `Prometheus ${PROMETHEUS_VERSION}, about 3 minutes the first time (two cores)`,
});

/** Prometheus' command for checks and unit tests of rules. */
export const promtool = fromGo({
  ...prometheusModule,
  name: "promtool",
  package: "github.com/prometheus/prometheus/cmd/promtool",
  what: `promtool ${PROMETHEUS_VERSION}, a minute after prometheus`,
});

/** The JSON Schema Test Suite in a folder `draft2020-12`. */
export const jsonSchemaSuite2020 = fromModule({
  name: "json-schema-suite-2020-12",
  folder: suites,
  module: "golang.org/x/tools",
  path: "internal/mcp/jsonschema/testdata",
  size: "about 9 MB",
});

/** An earlier state of the suite, in the folders `draft4` and `draft7`. */
export const jsonSchemaSuite7 = fromModule({
  name: "json-schema-suite-7",
  folder: suites,
  module: "github.com/xeipuuv/gojsonschema",
  path: "testdata",
  size: "about 1 MB",
});

export const CERT_MANAGER_VERSION = "v1.21.2";

const certManagerModule = join(clients, "cert-manager");

/** cert-manager's controllers and its server for HTTP-01 challenges, see its main.go. */
export const certManager = fromGo({
  name: "cert-manager",
  module: certManagerModule,
  what: `cert-manager ${CERT_MANAGER_VERSION}, about 5 minutes the first time (two cores)`,
});

/** A folder with the CRDs of cert-manager. */
export const certManagerCrds = fromModule({
  name: "cert-manager-crds",
  folder: certManagerModule,
  module: "github.com/cert-manager/cert-manager",
  path: "deploy/crds",
  size: "about 5 MB",
});

/** Let's Encrypt's ACME server for tests. */
export const pebble = fromGo({
  name: "pebble",
  module: certManagerModule,
  package: "github.com/letsencrypt/pebble/v2/cmd/pebble",
  what: "the ACME server Pebble, about 20 seconds",
});

/** The name server of Pebble's project, whose names an HTTP API sets. */
export const pebbleNames = fromGo({
  name: "pebble-names",
  module: certManagerModule,
  package: "github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv",
  what: "the name server of Pebble's project, about 20 seconds",
});

export const GRPC_GO_VERSION = "v1.84.0";

const grpcInterop = {
  module: join(clients, "grpc-interop"),
  what: `grpc-go ${GRPC_GO_VERSION}, about 2 minutes the first time (two cores)`,
};

/** The client of grpc-go for gRPC's interoperability tests. */
export const grpcInteropClient = fromGo({
  ...grpcInterop,
  name: "grpc-interop-client",
  package: "google.golang.org/grpc/interop/client",
});

/** The server of grpc-go for gRPC's interoperability tests. */
export const grpcInteropServer = fromGo({
  ...grpcInterop,
  name: "grpc-interop-server",
  package: "google.golang.org/grpc/interop/server",
});

export const EXTERNAL_DNS_VERSION = "v0.21.0";

export const externalDns = fromGo({
  name: "external-dns",
  module: join(clients, "external-dns"),
  package: "sigs.k8s.io/external-dns",
  what: `external-dns ${EXTERNAL_DNS_VERSION}, about 8 minutes the first time (two cores)`,
});
