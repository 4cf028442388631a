/**
 * The admin API applies the cluster's RBAC to its clients: tests with tokens of real service accounts, and with an
 * admin listener that has its own rights.
 */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { after, before, describe, test } from "node:test";
import { readSettings } from "@sluice/model";
import { type Admin, startAdmin } from "../../gateway/src/admin/index.ts";
import { adminSettings } from "../../gateway/src/settings/commands/admin.ts";
import { openStore } from "../../gateway/src/stores/open.ts";
import type { OpenedStore } from "../../gateway/src/stores/store.ts";
import { type ControlPlane, startControlPlane } from "../../tools/cluster/control-plane.ts";
import { clusterUsers, roleManifests } from "../../tools/cluster/rbac.ts";

const crds = new URL("../../crds/", import.meta.url);
const quiet = { info() {}, warn() {}, error() {} };

describe("the admin API in a cluster", () => {
  let cluster: ControlPlane;
  let opened: OpenedStore;
  let admin: Admin;
  const tokens: Record<string, string> = {};

  before(async () => {
    cluster = await startControlPlane();
    const files = (await readdir(crds)).filter((name) => name.endsWith(".yaml"));
    await cluster.kubectl(["apply", ...files.flatMap((name) => ["-f", new URL(name, crds).pathname])]);
    await cluster.kubectl(["wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"]);
    await cluster.kubectl(["create", "-f", "-"], roleManifests("default"));
    const rules = { reader: "get,list", writer: "get,list,create,update,patch,delete" };
    for (const [name, verbs] of Object.entries(rules)) {
      const resources = ["certificates", "upstreams", "services", "routes", "plugins", "consumers"];
      await cluster.kubectl(["create", "serviceaccount", name]);
      await cluster.kubectl([
        "create",
        "clusterrole",
        name,
        `--verb=${verbs}`,
        `--resource=${resources.map((resource) => `${resource}.sluice.dev`).join(",")}`,
      ]);
      await cluster.kubectl([
        "create",
        "clusterrolebinding",
        name,
        `--clusterrole=${name}`,
        `--serviceaccount=default:${name}`,
      ]);
      tokens[name] = (await cluster.kubectl(["create", "token", name])).trim();
    }
    await cluster.kubectl(["create", "serviceaccount", "tenant"]);
    const owned = "--resource=consumers.sluice.dev,routes.sluice.dev";
    await cluster.kubectl(["create", "role", "tenant", "--verb=create", owned]);
    await cluster.kubectl(["create", "rolebinding", "tenant", "--role=tenant", "--serviceaccount=default:tenant"]);
    tokens.tenant = (await cluster.kubectl(["create", "token", "tenant"])).trim();
    await cluster.kubectl(["create", "serviceaccount", "nobody"]);
    tokens.nobody = (await cluster.kubectl(["create", "token", "nobody"])).trim();

    process.env.KUBECONFIG = await cluster.kubeconfigFor(clusterUsers.admin);
    const { value: settings, violations } = readSettings(adminSettings, {
      SLUICE_ADMIN_LISTEN: "127.0.0.1:0",
      SLUICE_STORE: "cluster",
      SLUICE_ADMIN_KUBERNETES: "true",
      SLUICE_ADMIN_WAIT: "100ms",
      SLUICE_OPERATOR_URL: "http://127.0.0.1:1",
    });
    assert.ok(settings, JSON.stringify(violations));
    opened = await openStore(settings, quiet);
    admin = await startAdmin({ settings, opened, log: quiet, version: "1" });
  });
  after(async () => {
    await admin?.close();
    await opened?.close();
    await cluster?.stop();
  });

  async function ask(who: string, method: string, path: string, body?: object) {
    const response = await fetch(`http://127.0.0.1:${admin.address.port}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${tokens[who] ?? who}`,
        ...(body && { "content-type": "application/json" }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return {
      status: response.status,
      body: text === "" ? {} : (JSON.parse(text) as { message?: string; name?: string }),
    };
  }

  test("answers 401 to an invalid token", async () => {
    assert.deepEqual(await ask("not.a.token", "GET", "/services"), { status: 401, body: { message: "Unauthorized" } });
  });

  test("lets a user write if RBAC allows the user to write the custom resources, and creates a custom resource", async () => {
    const { status, body } = await ask("writer", "POST", "/services", { name: "users", host: "users.example" });
    assert.equal(status, 201, JSON.stringify(body));
    const listed = await cluster.kubectl([
      "get",
      "services.sluice.dev",
      "-n",
      "default",
      "-o",
      "jsonpath={.items[*].spec.name}",
    ]);
    assert.equal(listed, "users");
  });

  test("lets a user with read access read, refuses the user's writes, and gives the reason in the response to a POST", async () => {
    assert.equal((await ask("reader", "GET", "/services/users")).body.name, "users");
    const refused = await ask("reader", "POST", "/services", { name: "mine", host: "a" });
    assert.equal(refused.status, 403);
    assert.equal(
      refused.body.message,
      "system:serviceaccount:default:reader may not create services.sluice.dev in all namespaces: " +
        "RBAC of the cluster does not allow it",
    );
    assert.equal((await ask("reader", "DELETE", "/services/users")).status, 403);
    assert.equal((await ask("writer", "GET", "/services/users")).status, 200);
  });

  test("lets a user with rights in one namespace create only entities that are always created in that namespace", async () => {
    assert.equal((await ask("tenant", "POST", "/consumers", { username: "theirs" })).status, 201);
    const refused = await ask("tenant", "POST", "/routes", { paths: ["/"], service: { name: "users" } });
    assert.equal(refused.status, 403);
    assert.match(refused.body.message ?? "", /may not create routes\.sluice\.dev in all namespaces/);
  });

  test("does not show keys to a user who may not list Secrets", async () => {
    const { status, body } = await ask("writer", "GET", "/key-auths");
    assert.equal(status, 403);
    assert.match(body.message ?? "", /may not list secrets in the namespace default/);
  });

  test("lets a user without rights read the information at /, but not entities", async () => {
    assert.equal((await ask("nobody", "GET", "/services")).status, 403);
    assert.equal((await ask("nobody", "GET", "/")).status, 200);
  });
});
