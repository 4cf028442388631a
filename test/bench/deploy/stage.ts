/** The environment of the cases on a cluster: it has one node, and Pulumi has deployed the CRDs and the dev stack. */
import { type Cluster, startCluster } from "../../../tools/cluster/pods/cluster.ts";
import { openProject, type Project } from "../../../tools/deploy/project.ts";
import { selectStack } from "../../../tools/deploy/stack.ts";
import { runImages } from "../../../tools/images/images.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";

/** The namespace in Pulumi.dev.yaml. */
export const pulumiNamespace = "sluice-dev";
export const sluiceClass = "dev";

/** Durations in seconds. */
export interface DeploymentTimes {
  /** `pulumi up` of the CRDs' stack. */
  readonly crds: number;
  /** `pulumi up` of dev, until it has ended. */
  readonly up: number;
  /** From the start of `pulumi up` of dev until a GraphQL query through the gateway succeeds. */
  readonly answered: number;
}

export interface DeployStage {
  readonly cluster: Cluster;
  readonly times: DeploymentTimes;
  /** The API key of the user API's first consumer. */
  readonly key: string;
  /** Runs kubectl in the stack's namespace and resolves to its output. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** The body of a Service's response to a GET from the cluster's node. Rejects unless the status is 200. */
  get(service: string, path: string): Promise<string>;
  close(): Promise<void>;
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work();
  return (performance.now() - began) / 1000;
};

export async function createDeployStage(): Promise<DeployStage> {
  const folder = temporaryFolder("bench-deploy");
  const { tar } = await runImages();
  const cluster = await startCluster({ images: [tar] });
  const close = async () => {
    await cluster.down();
    folder.remove();
  };
  try {
    const kubeconfig = await cluster.outsideKubeconfig();
    const project = await openProject({ folder: folder.path, kubeconfig, passphrase: "of-the-bench" });
    await prepare(project);
    const crds = await seconds(() => pulumi(project, "up", "--yes", "--stack", "crds"));
    const began = performance.now();
    const up = await seconds(() => pulumi(project, "up", "--yes", "--stack", "dev"));
    const key = await pulumi(project, "stack", "output", "consumerKey", "--show-secrets", "--stack", "dev");
    const url = `http://sluice-gateway.${pulumiNamespace}.svc.cluster.local/users/graphql`;
    await waitFor(() => run(cluster, firstAnswer(url, key.trim())), { what: "the first answer", timeout: 60_000 });
    const times = { crds, up, answered: (performance.now() - began) / 1000 };
    return {
      cluster,
      times,
      key: key.trim(),
      kubectl: (...args) => cluster.kubectl(["--namespace", pulumiNamespace, ...args]),
      get: (service, path) => run(cluster, body(`http://${service}.${pulumiNamespace}.svc.cluster.local${path}`)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Selects the repository's stacks, and raises a rate limit that the load would exceed. */
async function prepare(project: Project): Promise<void> {
  await selectStack(project, "crds");
  await selectStack(project, "dev");
  const limit = ["--path", "sluice:userApi.route.requestsPerMinute", "1000000"];
  await pulumi(project, "config", "set", ...limit, "--stack", "dev");
}

async function pulumi(project: Project, ...args: readonly string[]): Promise<string> {
  const { code, output } = await project.run(args);
  if (code !== 0) throw new Error(`pulumi ${args.join(" ")}\n${output}`);
  return output;
}

/** Runs a module's text on the cluster's node and resolves to its output. */
async function run(cluster: Cluster, script: string): Promise<string> {
  const { code, stdout, stderr } = await cluster.run(process.execPath, ["--input-type=module", "--eval", script]);
  if (code !== 0) throw new Error(stderr.trim());
  return stdout;
}

const body = (url: string): string => `
  const response = await fetch(${JSON.stringify(url)});
  if (response.status !== 200) throw new Error("the status is " + response.status);
  process.stdout.write(await response.text());`;

const firstAnswer = (url: string, key: string): string => `
  const response = await fetch(${JSON.stringify(url)}, {
    method: "POST",
    headers: { "content-type": "application/json", apikey: ${JSON.stringify(key)} },
    body: JSON.stringify({ query: "{ users { name } }" }),
  });
  if (response.status !== 200) throw new Error("the status is " + response.status);
  console.log("answered");`;
