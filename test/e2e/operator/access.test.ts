/** The operator's token is replaced while the operator runs, and the operator starts without one of its rights. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clusterUsers } from "../../../tools/cluster/rbac.ts";
import { temporaryFolder, waitFor } from "../../../tools/process/index.ts";
import { getUrl } from "../../product/client.ts";
import { type RecordedApiRequest, startApiProxy } from "./api-proxy.ts";
import { changeDuringFault } from "./change-during-fault.ts";
import { type FaultEnvironment, startFaultEnvironment, writeKubeconfig } from "./fault-environment.ts";

const folder = temporaryFolder("access");
after(folder.remove);
let environment: FaultEnvironment;
before(async () => {
  environment = await startFaultEnvironment();
});
after(() => environment?.close());

const tokenFile = join(folder.path, "token");

/** Creates a Secret with this name, and writes a token that is valid as long as the Secret exists. */
async function issue(secret: string): Promise<void> {
  await environment.plane.kubectl(["create", "secret", "generic", secret]);
  const bound = ["--bound-object-kind=Secret", `--bound-object-name=${secret}`];
  const token = await environment.plane.kubectl(["create", "token", "sluice-operator", ...bound]);
  writeFileSync(tokenFile, token, { mode: 0o600 });
}

test("the operator continues with the new token of its file after the old token has become invalid", async () => {
  const { kubectl } = environment.plane;
  await kubectl(["create", "serviceaccount", "sluice-operator"]);
  for (const [kind, ...where] of [["clusterrolebinding"], ["rolebinding", "-n", "default"]] as const) {
    const subject = { kind: "ServiceAccount", name: "sluice-operator", namespace: "default" };
    const added = JSON.stringify([{ op: "add", path: "/subjects/-", value: subject }]);
    await kubectl(["patch", kind, clusterUsers.operator, ...where, "--type=json", "-p", added]);
  }
  await issue("first");
  const api = await startApiProxy(environment.plane.kubeconfig, { identity: "callers" });
  try {
    const user = { "auth-provider": { name: "tokenFile", config: { tokenFile } } };
    const KUBECONFIG = writeKubeconfig(join(folder.path, "by-token"), { server: api.url, user });
    await environment.operator.process.stop();
    await environment.operator.start({ KUBECONFIG });
    await changeDuringFault(environment, {
      async fault(change) {
        await kubectl(["delete", "secret", "first"]);
        // The API server caches a valid token for ten seconds.
        await waitFor(() => api.asked.some(({ status }) => status === 401), {
          what: "a response 401",
          timeout: 30_000,
        });
        await issue("second");
        await change();
      },
    });
    const [, ...later] = api.asked.filter(({ status }) => status === 401);
    assert.ok(later.length <= 10, `${later.length + 1} requests with the old token`);
    // ReferenceGrants have no CRD here, so requests for them are answered 404 even with a valid token.
    const isCounted = ({ path, status }: RecordedApiRequest) =>
      status !== undefined && !path.includes("/referencegrants?");
    const last = api.asked.findLast(isCounted)?.status ?? 0;
    assert.ok(last >= 200 && last < 300, `${last}`);
  } finally {
    await environment.operator.process.stop();
    await api.close();
    await environment.operator.start();
  }
});

interface Lacking {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly role: "clusterrole" | "role";
  /** Whether the effect of the missing verb can be observed elsewhere than in the log. */
  seen(): Promise<boolean>;
  /** Whether changes reach the nodes without this verb. */
  readonly serves: boolean;
}

const failed = (metric: string, label: string) => async () => (await environment.operator.metric(metric, label)) > 0;
const missing = (kind: string) => async () => {
  const { status, body } = await getUrl(`${environment.operator.url}/readyz`);
  return status === 503 && (body as { message: string }).message.includes(kind);
};

const lacking: readonly Lacking[] = [
  { verb: "list", group: "sluice.dev", resource: "routes", role: "clusterrole", seen: missing("Route"), serves: false },
  {
    verb: "watch",
    group: "sluice.dev",
    resource: "routes",
    role: "clusterrole",
    seen: failed("rest_client_requests_total", 'code="403"'),
    serves: false,
  },
  { verb: "list", group: "", resource: "secrets", role: "clusterrole", seen: missing("Secret"), serves: false },
  {
    verb: "patch",
    group: "sluice.dev",
    resource: "routes/status",
    role: "clusterrole",
    seen: failed("sluice_operator_status_writes_total", 'outcome="failed"'),
    serves: true,
  },
  {
    verb: "create",
    group: "events.k8s.io",
    resource: "events",
    role: "clusterrole",
    seen: failed("rest_client_requests_total", 'code="403"'),
    serves: true,
  },
  {
    verb: "patch",
    group: "coordination.k8s.io",
    resource: "leases",
    role: "role",
    seen: async () => (await environment.operator.metric("leader_election_master_status")) === 0,
    serves: false,
  },
  {
    verb: "create",
    group: "",
    resource: "configmaps",
    role: "role",
    seen: async () => (await environment.operator.metric("sluice_operator_document_kept_timestamp_seconds")) === 0,
    serves: true,
  },
];

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

for (const { verb, group, resource, role, seen, serves } of lacking) {
  const what = group ? `${resource}.${group}` : resource;
  test(`without the right to ${verb} ${what}, the operator logs what is missing, and continues once the right is granted`, () =>
    changeDuringFault(environment, {
      async fault(change) {
        const { kubectl } = environment.plane;
        const read = ["get", role, clusterUsers.operator, "-n", "default", "-o", "json"];
        const { rules } = JSON.parse(await kubectl(read)) as { rules: readonly Rule[] };
        const put = (next: readonly Rule[]) =>
          kubectl([
            "patch",
            role,
            clusterUsers.operator,
            "-n",
            "default",
            "--type=merge",
            "-p",
            JSON.stringify({ rules: next }),
          ]);
        await put(rules.flatMap((rule) => without(rule, { verb, group, resource })));
        try {
          await environment.operator.process.stop();
          await environment.operator.start();
          if (serves) await change();
          const plural = resource.replace(/\/.*/, "");
          const words = new RegExp(
            `cannot ${verb} resource \\\\"${plural}(/status)?\\\\" in API group \\\\"${group}\\\\"`,
          );
          await environment.operator.process.waitForOutput(words, { timeout: 30_000 });
          await waitFor(seen, { what: "the metric or condition that reports the missing permission", timeout: 30_000 });
          if (!serves) await change();
        } finally {
          await put(rules);
        }
      },
    }));
}

function without(rule: Rule, { verb, group, resource }: Pick<Lacking, "verb" | "group" | "resource">): readonly Rule[] {
  if (!rule.apiGroups.includes(group) || !rule.resources.includes(resource)) return [rule];
  return [
    { ...rule, resources: rule.resources.filter((one) => one !== resource) },
    { ...rule, resources: [resource], verbs: rule.verbs.filter((one) => one !== verb) },
  ].filter(({ resources, verbs }) => resources.length > 0 && verbs.length > 0);
}
