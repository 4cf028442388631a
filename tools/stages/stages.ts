import {
  CERT_MANAGER_VERSION,
  EXTERNAL_DNS_VERSION,
  GRPC_GO_VERSION,
  KEYCLOAK_VERSION,
  PROMETHEUS_VERSION,
} from "../programs/public.ts";
import type { ToolName } from "../programs/tool.ts";

/** A stage of `npm test` that runs test files. */
export interface Suites {
  readonly name: string;
  /** A description, for the line that is printed before the stage runs. */
  readonly what: string;
  /** The folders of the stage's test files. Absent: the stage has every test file that no other stage has. */
  readonly folders?: readonly string[];
  /**
   * The number of test files that run at a time, including the last files of the stage before: a file starts when fewer
   * files than this run.
   */
  readonly concurrency: number;
  /**
   * Minutes until the stage is stopped and has failed. A single test has half of this time. The limit is about six
   * times the duration on two idle cores: a virtual machine may get only a third of the cores' time, and the rest is
   * reserve.
   */
  readonly minutes: number;
  /** Tools to build or install before the stage's time begins, in this order. */
  readonly tools?: readonly ToolName[];
  /** Further tools, by folder; they are needed when a test file below that folder runs. */
  readonly folderTools?: Readonly<Record<string, readonly ToolName[]>>;
  /** Whether files that do not change the state of their process share one (shared-processes.ts). Default: no. */
  readonly sharesProcesses?: true;
  /** The stage runs only when an argument names it. */
  readonly onlyByName?: true;
  /** Folders whose files run only when an argument names the folder. */
  readonly foldersByName?: readonly string[];
  /**
   * What each folder of the stage tests, by the path of the folder. The folders run one by one; the result of each is
   * kept (see public-results.ts), and the tools of a folder are obtained only when this folder runs.
   */
  readonly subjects?: Readonly<Record<string, string>>;
  /**
   * Folders whose files run first, two at a time; the other files then run `concurrency` at a time. The files in these
   * folders start no cluster with pods, measure no duration, and at most one of them uses the standard ports.
   */
  readonly pairedFolders?: readonly string[];
}

/**
 * The stages that run test files, in the order in which they start. Each `concurrency` is meant for two cores. It is
 * higher than the number of cores where files wait for a disk, another process or an interval.
 */
export const suites: readonly Suites[] = [
  {
    name: "tools",
    what: "the servers, browser and processes that the suites use",
    folders: ["tools/programs", "tools/process"],
    concurrency: 3,
    minutes: 10,
    tools: ["redis-server", "chromium", "kube"],
  },
  {
    name: "unit",
    what: "the test files beside the sources",
    concurrency: 4,
    minutes: 20,
    sharesProcesses: true,
    folderTools: { "gateway/plugins/ldap-auth": ["slapd"], "gateway/src/commands": ["zsh", "fish"] },
  },
  {
    name: "conformance",
    what: "one suite per interface, for each implementation",
    folders: ["test/conformance"],
    folderTools: { "test/conformance/ingress": ["nginx"], "test/conformance/load-balancers": ["haproxy"] },
    concurrency: 4,
    minutes: 20,
  },
  {
    name: "cluster",
    what: "a real Kubernetes control plane, and the product on it",
    folders: ["tools/cluster", "test/cluster", "test/product/cluster"],
    concurrency: 4,
    minutes: 25,
  },
  {
    name: "images",
    what: "the contents of the images",
    folders: ["tools/images", "test/images"],
    concurrency: 4,
    minutes: 20,
    tools: ["redis-server"],
  },
  {
    name: "product",
    what: "npm start and a real browser",
    folders: ["test/product"],
    concurrency: 4,
    minutes: 25,
  },
  {
    name: "golden",
    what: "custom resources in, document and conditions out",
    folders: ["test/golden"],
    concurrency: 3,
    minutes: 10,
  },
  {
    name: "e2e",
    what: "Kong's own clients, the engine reply-from, images, deployments, failures around the operator, the tutorials, and a clean clone",
    folders: ["test/e2e"],
    concurrency: 1,
    minutes: 60,
    tools: ["kube"],
    folderTools: {
      "test/e2e/admin": ["deck", "go-kong", "slapd"],
      "test/e2e/console": ["chromium"],
      "test/e2e/http2": ["h2spec", "chromium"],
      "test/e2e/images": ["redis-server"],
      "test/e2e/plugins": ["openid-server"],
      "test/e2e/docs": ["helm", "coredns", "pause", "containerd", "nft", "cni-plugins"],
      "test/e2e/deploy": [
        ...(["pulumi", "helm", "kubeconform", "service-monitor-crd", "prometheus-rule-crd"] as const),
        ...(["coredns", "pause", "containerd", "nft", "cni-plugins"] as const),
      ],
      "test/e2e/gateway-api": [
        ...(["gateway-api-suite", "gateway-api-echo", "gateway-api-crds", "helm"] as const),
        ...(["coredns", "pause", "containerd", "nft", "cni-plugins"] as const),
      ],
    },
    foldersByName: ["test/e2e/gateway-api"],
    pairedFolders: ["admin", "console", "engine", "images", "plugins"].map((name) => `test/e2e/${name}`),
    onlyByName: true,
  },
  {
    name: "public",
    what: "other projects' servers and suites that are too large for every run",
    folders: ["test/public"],
    concurrency: 1,
    minutes: 20,
    folderTools: {
      "test/public/keycloak": ["redis-server", "java", "keycloak"],
      "test/public/prometheus": ["prometheus", "promtool"],
      "test/public/json-schema": ["json-schema-suite-2020-12", "json-schema-suite-7"],
      "test/public/cert-manager": [
        ...(["kube", "cert-manager", "cert-manager-crds", "pebble", "pebble-names"] as const),
        ...(["redis-server", "gateway-api-crds", "helm"] as const),
        ...(["coredns", "pause", "containerd", "nft", "cni-plugins"] as const),
      ],
      "test/public/acme-cluster": ["kube", "pebble", "pebble-names"],
      "test/public/acme": ["pebble", "pebble-names"],
      "test/public/external-dns": ["kube", "external-dns", "gateway-api-crds"],
      "test/public/grpc": ["grpc-interop-client", "grpc-interop-server"],
    },
    onlyByName: true,
    subjects: {
      "test/public/keycloak": `the plugin openid-connect with Keycloak ${KEYCLOAK_VERSION}`,
      "test/public/prometheus": `the alert rules in Prometheus ${PROMETHEUS_VERSION}`,
      "test/public/json-schema":
        "the plugin request-validator with the required tests of the JSON Schema Test Suite for the drafts 4, 7 and 2020-12",
      "test/public/cert-manager": `certificates of cert-manager ${CERT_MANAGER_VERSION} and the ACME server Pebble for Ingresses and Gateways`,
      "test/public/acme-cluster":
        "certificates that the operator orders from the ACME server Pebble, on a control plane with two nodes",
      "test/public/acme": `certificates that nodes order from the ACME server Pebble, with a database and with a file`,
      "test/public/external-dns": `the names and addresses that external-dns ${EXTERNAL_DNS_VERSION} reads from Ingresses and Gateways`,
      "test/public/grpc": `gRPC's interoperability cases with the client and the server of grpc-go ${GRPC_GO_VERSION}, through a node`,
    },
  },
];

/**
 * The test files of a stage, out of all paths of the repository. Every test file belongs to exactly one stage: of the
 * folders that contain it, the one with the longest path decides.
 */
export function testFiles(stage: Suites, paths: readonly string[]): readonly string[] {
  const taken = suites.flatMap(({ folders = [] }) => folders);
  const longest = (folders: readonly string[], path: string) =>
    Math.max(0, ...folders.filter((folder) => path.startsWith(`${folder}/`)).map(({ length }) => length));
  const unnamed = (stage.foldersByName ?? []).filter((folder) => !stage.folders?.includes(folder));
  const belongs = (path: string) => {
    if (longest(unnamed, path) > 0) return false;
    if (stage.folders === undefined) return longest(taken, path) === 0;
    const own = longest(stage.folders, path);
    return own > 0 && own >= longest(taken, path);
  };
  return paths.filter((path) => path.endsWith(".test.ts") && belongs(path)).toSorted();
}

/** The tools that these test files of a stage need. */
export function toolsOf({ tools = [], folderTools = {} }: Suites, files: readonly string[]): readonly ToolName[] {
  const below = Object.entries(folderTools).filter(([folder]) => files.some((file) => file.startsWith(`${folder}/`)));
  return [...tools, ...below.flatMap(([, names]) => names)];
}

/** What the arguments of `npm test` select. */
export interface ChosenStages {
  /** The names of the stages to run, in the order in which they run. */
  readonly names: readonly string[];
  /** The only folders whose test files run. Absent: all folders of the stages. */
  readonly folders?: readonly string[];
  /** Unknown arguments. */
  readonly unknown: readonly string[];
}

/**
 * A part of a stage. Its `name` is the stage's name, with an addition for the files of `pairedFolders`, or the path of a
 * folder of `subjects`.
 */
export interface StagePart {
  readonly name: string;
  readonly files: readonly string[];
  /** The number of test files that run at a time. */
  readonly concurrency: number;
}

/** The parts of a stage that run one after the other. */
export function stagePartsOf(stage: Suites, files: readonly string[]): readonly StagePart[] {
  const { name, subjects, concurrency, pairedFolders } = stage;
  const isBelow = (file: string, folders: readonly string[]) => folders.some((folder) => file.startsWith(`${folder}/`));
  const withFiles = (parts: readonly StagePart[]) => parts.filter((part) => part.files.length > 0);
  if (subjects !== undefined) {
    return withFiles(
      Object.keys(subjects).map((folder) => {
        return { name: folder, files: files.filter((file) => isBelow(file, [folder])), concurrency };
      }),
    );
  }
  if (pairedFolders === undefined) return [{ name, files, concurrency }];
  return withFiles([
    { name: `${name}, two at a time`, files: files.filter((file) => isBelow(file, pairedFolders)), concurrency: 2 },
    { name, files: files.filter((file) => !isBelow(file, pairedFolders)), concurrency },
  ]);
}

/**
 * Without arguments, all stages except those that run only when named; otherwise the named stages. After a first
 * argument `e2e` or `public`, further arguments name folders below test/e2e or test/public instead of stages:
 * `e2e admin` runs test/e2e/admin alone.
 *
 * @param paths All paths of the repository.
 */
export function chooseStages(args: readonly string[], paths: readonly string[]): ChosenStages {
  const [first = "", ...rest] = args;
  if (["e2e", "public"].includes(first) && rest.length > 0) {
    const below = `test/${first}`;
    const holdsTests = (name: string) =>
      paths.some((path) => path.startsWith(`${below}/${name}/`) && path.endsWith(".test.ts"));
    const unknown = rest.filter((name) => !holdsTests(name));
    return { names: [first], folders: rest.map((name) => `${below}/${name}`), unknown };
  }
  const all = ["check", ...suites.map(({ name }) => name)];
  const byDefault = all.filter((name) => !suites.some((stage) => stage.name === name && stage.onlyByName));
  const unknown = args.filter((name) => !all.includes(name));
  return { names: args.length === 0 ? byDefault : all.filter((name) => args.includes(name)), unknown };
}
