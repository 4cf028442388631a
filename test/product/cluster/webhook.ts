/** The validating webhook, called by the real API server, with the operator's own rights. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { connect } from "node:tls";
import { createClusterClient, createClusterObjects } from "@sluice/crds";
import { pino } from "pino";
import { Registry } from "prom-client";
import { parse } from "yaml";
import type { ReviewedWrite } from "../../../operator/src/revisions/authors.ts";
import { startWebhook, type Webhook } from "../../../operator/src/webhook/webhook.ts";
import { builtProgram } from "../../../tools/build/programs.ts";
import { type ClusterApi, connectApi } from "../../../tools/cluster/api.ts";
import type { ControlPlane } from "../../../tools/cluster/control-plane.ts";
import { clusterUsers, roleManifests } from "../../../tools/cluster/rbac.ts";
import { freePort, startProcess, waitFor } from "../../../tools/process/index.ts";
import { resourceObject } from "../resources.ts";

const root = new URL("../../../", import.meta.url);
const name = "sluice-webhook";
const webhook = parse(readFileSync(new URL("charts/sluice/files/webhook.yaml", root), "utf8"));
const configuration = (port: number) => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  metadata: { name },
  webhooks: [{ ...webhook, clientConfig: { url: `https://127.0.0.1:${port}/validate` } }],
});

/** A spec with errors that neither a schema nor a CEL rule can detect. */
const invalid = { paths: ["~/users/(", "~/a["] };
const valid = { paths: ["/users"] };
const routes = "/apis/sluice.dev/v1alpha1/namespaces/default/routes";
const SPEC_PATCH = "application/merge-patch+json";

interface Replica extends Webhook {
  stop(): Promise<void>;
}

export function webhookSuite(plane: ControlPlane): void {
  describe("the validating webhook", () => {
    let api: ClusterApi;
    let replicas: readonly Replica[] = [];
    const lines: string[] = [];
    const seen: ReviewedWrite[] = [];

    async function startReplica(): Promise<Replica> {
      const kubeconfig = await plane.kubeconfigFor(clusterUsers.operator);
      const log = pino({ level: "debug" }, { write: (line: string) => void lines.push(line) });
      const client = createClusterClient({ kubeconfig, log });
      const objects = createClusterObjects({ kubeconfig });
      const started = await startWebhook({
        listen: { host: "127.0.0.1", port: 0 },
        name,
        homeNamespace: "default",
        secretNamespace: "default",
        isOwn: () => true,
        observeWrite: (write) => void seen.push(write),
        registry: new Registry(),
        client,
        objects,
        manager: "sluice-operator",
        log,
        interval: 200,
      });
      return {
        ...started,
        async stop() {
          await started.close();
          await Promise.all([client.close(), objects.close()]);
        },
      };
    }

    before(async () => {
      api = connectApi(plane.kubeconfig);
      await plane.kubectl(["apply", "--server-side", "-f", "-"], roleManifests("default"));
      // A resource may have been stored without validation, by an older version or while the operator was down.
      await waitFor(async () => (await create("old", invalid)).status === 201, { what: "a route to be stored" });
      replicas = [await startReplica(), await startReplica()];
      await plane.kubectl(["apply", "-f", "-"], JSON.stringify(configuration(replicas[0]?.address.port ?? 0)));
      await refused("the API server to call the webhook");
    });
    after(async () => {
      await Promise.all(replicas.map((replica) => replica.stop()));
      api?.close();
    });

    const create = (routeName: string, spec: object, query = "") =>
      api.ask({ method: "POST", path: `${routes}${query}`, body: resourceObject("Route", routeName, spec) });
    const patch = (routeName: string, body: object, contentType = SPEC_PATCH) =>
      api.ask({ method: "PATCH", path: `${routes}/${routeName}`, body, contentType });
    const messageOf = (body: unknown): string => String(Object(body).message);

    /**
     * Waits until an invalid resource is refused: the API server reads webhook configurations by a watch, with a delay.
     */
    const refused = (what: string) =>
      waitFor(async () => (await create("tried", invalid, "?dryRun=All")).status === 422, { what });

    const bundle = () =>
      plane.kubectl([
        "get",
        "validatingwebhookconfiguration",
        name,
        "-o",
        "jsonpath={.webhooks[0].clientConfig.caBundle}",
      ]);

    /** Whether the replica's certificate is valid for the CA that the API server trusts. */
    const isTrusted = async ({ address }: Webhook): Promise<boolean> => {
      const ca = Buffer.from(await bundle(), "base64").toString();
      return new Promise((resolve) => {
        const socket = connect({ ...address, ca }, () => resolve(true)).on("error", () => resolve(false));
        socket.on("secureConnect", () => socket.destroy());
      });
    };

    describe("a client of the API server", { concurrency: false }, () => {
      test("gets every violation on a line of its own, with its path", async () => {
        await assert.rejects(
          plane.kubectl(["apply", "-f", "-"], JSON.stringify(resourceObject("Route", "new", invalid))),
          (error) => {
            assert.ok(error instanceof Error);
            const refusal = error.message.slice(error.message.indexOf("admission webhook")).split("\n");
            assert.deepEqual(refusal, [
              'admission webhook "validate.sluice.dev" denied the request: spec.paths[0]: not a valid regex: /users/( (missing closing ): `/users/(`)',
              "spec.paths[1]: not a valid regex: /a[ (missing closing ]: `[`)",
            ]);
            return true;
          },
        );
      });

      test("gets the errors in a plugin's config, whose schema the API server does not know", async () => {
        const plugin = resourceObject("Plugin", "cors", { plugin: "cors", config: { max_age: "long", orgins: ["*"] } });
        const { status, body } = await api.ask({
          method: "POST",
          path: "/apis/sluice.dev/v1alpha1/namespaces/default/plugins",
          body: plugin,
        });
        assert.equal(status, 422);
        assert.match(
          messageOf(body),
          /spec\.config\.orgins: unknown field\nspec\.config\.max_age: expected an integer$/,
        );
      });

      test("gets a warning for members without effect, and the API server stores them", async () => {
        const { status, warnings } = await create("idle", { ...valid, regexPriority: 7 });
        assert.deepEqual(
          [status, warnings],
          [201, ["spec.regexPriority has no effect: no path is a regular expression (~/)"]],
        );
      });

      test("stores a valid resource without a warning, and cannot change its spec to an invalid spec", async () => {
        const { status, warnings } = await create("good", valid);
        assert.deepEqual([status, warnings], [201, []]);
        assert.equal((await patch("good", { spec: invalid })).status, 422);
      });

      test("stores a resource of another installation's class without calling the webhook", async () => {
        assert.equal((await create("foreign", { ...invalid, class: "other" })).status, 201);
      });

      test("stores the status of an invalid resource without calling the webhook", async () => {
        const conditions = [
          { type: "Accepted", status: "True", reason: "Made", message: "", lastTransitionTime: "2026-01-01T00:00:00Z" },
        ];
        const { status } = await api.ask({
          method: "PATCH",
          path: `${routes}/old/status`,
          body: { status: { conditions } },
          contentType: SPEC_PATCH,
        });
        assert.equal(status, 200);
      });

      test("may label, finalize and delete invalid resources that were stored before the webhook, but not change their specs to different invalid specs", async () => {
        assert.equal(
          (await patch("old", { metadata: { labels: { a: "b" }, finalizers: ["example.org/wait"] } })).status,
          200,
        );
        assert.equal((await patch("old", { spec: { paths: ["~/("] } })).status, 422);
        await api.ask({ method: "DELETE", path: `${routes}/old` });
        assert.equal((await patch("old", { metadata: { finalizers: null } })).status, 200);
        assert.equal((await api.ask({ path: `${routes}/old` })).status, 404);
      });
    });

    test("the webhook gets the user of each write and deletion of a resource of its class", async () => {
      const own = "watched";
      const before = seen.length;
      const { body } = await create(own, valid);
      const { uid } = Object(body).metadata;
      await patch(own, { metadata: { labels: { a: "b" } } });
      await patch(own, { spec: { paths: ["/others"] } });
      await api.ask({ method: "DELETE", path: `${routes}/${own}?dryRun=All` });
      for (const name of [own, "foreign"]) await api.ask({ method: "DELETE", path: `${routes}/${name}` });
      assert.deepEqual(
        seen.slice(before),
        [1, 2, null].map((generation) => ({ uid, generation, user: "admin" })),
      );
    });

    describe("the webhook's certificate", { concurrency: false }, () => {
      test("is signed by the same authority for all replicas", async () => {
        for (const replica of replicas) await waitFor(() => isTrusted(replica), { what: "a replica to be trusted" });
      });

      test("is replaced when its Secret is lost: all replicas present a new certificate, which the API server trusts", async () => {
        const before = await bundle();
        await plane.kubectl(["delete", "secret", name]);
        await waitFor(async () => (await bundle()) !== before, { what: "another authority in the configuration" });
        for (const replica of replicas) await waitFor(() => isTrusted(replica), { what: "a replica to be trusted" });
        await refused("the API server to call the webhook again");
      });

      test("is trusted again when the configuration is created again without an authority", async () => {
        await plane.kubectl(["delete", "validatingwebhookconfiguration", name]);
        await plane.kubectl(["create", "-f", "-"], JSON.stringify(configuration(replicas[0]?.address.port ?? 0)));
        await waitFor(async () => (await bundle()) !== "", { what: "the authority in the configuration" });
        await refused("the API server to call the webhook again");
      });

      test("stays trusted when the configuration is applied again without the authority", async () => {
        const before = await bundle();
        await plane.kubectl(
          ["apply", "--server-side", "--force-conflicts", "-f", "-"],
          JSON.stringify(configuration(replicas[0]?.address.port ?? 0)),
        );
        assert.equal(await bundle(), before);
      });

      test("has a private key that is in no log line", () => {
        assert.ok(lines.length > 0);
        assert.doesNotMatch(lines.join(""), /PRIVATE KEY/);
      });
    });

    test("while no operator answers, no resource is refused", async () => {
      await Promise.all(replicas.map((replica) => replica.stop()));
      replicas = [];
      assert.equal((await create("unseen", invalid)).status, 201);
    });

    test("the command sluice-operator opens the webhook at SLUICE_WEBHOOK_LISTEN", async () => {
      const port = await freePort();
      const operator = await startProcess(await builtProgram("operator"), [], {
        name: "sluice-operator",
        ready: /loaded the webhook's certificate/,
        env: {
          KUBECONFIG: await plane.kubeconfigFor(clusterUsers.operator),
          SLUICE_DIRECTORY: undefined,
          SLUICE_OPERATOR_LISTEN: "127.0.0.1:0",
          SLUICE_PUSH_TOKEN: "token-of-the-test",
          SLUICE_WEBHOOK_LISTEN: `127.0.0.1:${port}`,
        },
      });
      try {
        await plane.kubectl(
          ["apply", "--server-side", "--force-conflicts", "-f", "-"],
          JSON.stringify(configuration(port)),
        );
        await refused("the API server to call the webhook of the operator");
        assert.deepEqual(await operator.stop(), { code: 0, signal: null });
      } finally {
        await operator.kill9();
      }
    });
  });
}
