/** The product on a control plane of its own, for the suites of this folder. */
import {
  type ClusterProduct,
  type ClusterProductOptions,
  startClusterProduct,
} from "../../../tools/cluster/product.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { withUserDatabase } from "../../../tools/programs/servers/embedded-database.ts";
import { usersIn } from "../../../tools/start/directory-product.ts";
import { getUrl } from "../client.ts";
import { freeAddresses } from "../free-addresses.ts";

export interface Suite extends ClusterProduct {
  /** The warnings and errors of its processes so far, one line each. A test may empty it. */
  readonly shown: string[];
  /** `kubectl apply` of these objects. Resolves to its output. */
  apply(...resources: readonly object[]): Promise<string>;
  /** Waits until `kubectl wait` reports these resources, such as `gwroute/users`, as Programmed. */
  programmed(...names: readonly string[]): Promise<void>;
  /** A condition of a resource, as `status reason message`; empty when the resource does not have the condition. */
  condition(name: string, type: string): Promise<string>;
  /** Deletes the resources of Sluice and the Ingresses, and waits until the operator publishes an empty document. */
  clear(): Promise<void>;
}

interface SuiteOptions extends Pick<ClusterProductOptions, "operatorEnv" | "nodeEnv"> {
  /** Whether the user API runs, whose start takes as much processor time as that of two nodes. Default false. */
  readonly hasUserApi?: boolean;
  /** Default: free addresses. */
  readonly chosen?: ClusterProductOptions["chosen"];
}

/** Starts the product. */
export async function startSuite(options: SuiteOptions = {}): Promise<Suite> {
  const folder = temporaryFolder("product");
  const { chosen = await freeAddresses(), hasUserApi = false } = options;
  if (hasUserApi) await withUserDatabase(usersIn(folder.path));
  const shown: string[] = [];
  const show = (line: string) => void shown.push(line);
  const product = await startClusterProduct({ ...options, chosen, hasUserApi, show, work: folder.path });
  const { kubectl } = product.plane;
  const hash = async () => ((await getUrl(`http://${chosen.operator}/status`)).body as { readonly hash: string }).hash;
  const empty = await hash();
  return {
    ...product,
    shown,
    apply: (...items) => kubectl(["apply", "-f", "-"], JSON.stringify({ apiVersion: "v1", kind: "List", items })),
    async programmed(...names) {
      await kubectl(["wait", "--for=condition=Programmed", "--timeout=60s", ...names]);
    },
    condition(name, type) {
      const path = `{range .status.conditions[?(@.type=="${type}")]}{.status} {.reason} {.message}{end}`;
      return kubectl(["get", name, "-o", `jsonpath=${path}`]);
    },
    async clear() {
      await kubectl(["delete", "sluice,ingress", "--all"]);
      await waitFor(async () => (await hash()) === empty, { what: "an empty document", timeout: 30_000 });
    },
    async stop() {
      await product.stop();
      folder.remove();
    },
  };
}
