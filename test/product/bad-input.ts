/**
 * Bad input, one table for folder and cluster: resources, their conditions, and the responses to requests. After each
 * row, a valid route must still work.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Condition, SluiceKind } from "@sluice/crds";
import { waitFor } from "../../tools/process/index.ts";
import { getUrl } from "./client.ts";
import { consumerObjects, resourceObject, routeObject, secretObjectOf } from "./resources.ts";

/** A product with a service `echo` and a route `/echo` in its folder or cluster. */
export interface BadInputProduct {
  /** Base URLs of the proxies. */
  readonly nodes: readonly [string, string];
  /** Writes resources; rejects when the API server refuses them. */
  put(...items: readonly object[]): Promise<unknown>;
  conditions(kind: SluiceKind, name: string): Promise<readonly Condition[]>;
}

interface Case {
  readonly what: string;
  readonly items: readonly object[];
  /** Kind and name of the invalid resource. */
  readonly kind: SluiceKind;
  readonly name: string;
  readonly condition: "Accepted" | "ResolvedRefs";
  readonly reason: string;
  readonly message: RegExp;
  /** Requests and their expected status: path, status, key. */
  readonly answers?: readonly (readonly [path: string, status: number, key?: string])[];
  /** The API server's message if a schema or rule of the CRDs refuses the resource. */
  readonly refusal?: RegExp;
}

const to = (kind: SluiceKind, name: string) => ({ targetRefs: [{ kind, name }] });
const echo = { serviceRef: { name: "echo" } };
const protectedRoute = (name: string, plugin: object) => [
  routeObject(name, echo),
  resourceObject("Plugin", name, { ...plugin, ...to("Route", name) }),
];

const cases: readonly Case[] = [
  {
    what: "an unknown field",
    items: [routeObject("unknown-field", { ...echo, stripPaths: false })],
    kind: "Route",
    name: "unknown-field",
    condition: "Accepted",
    reason: "Invalid",
    message: /spec\.stripPaths: unknown field/,
    refusal: /unknown field "(spec\.)?stripPaths"/,
  },
  {
    what: "a wrong type",
    items: [routeObject("wrong-type", { ...echo, stripPath: "yes" })],
    kind: "Route",
    name: "wrong-type",
    condition: "Accepted",
    reason: "Invalid",
    message: /spec\.stripPath: expected a boolean/,
    refusal: /spec\.stripPath.*boolean/,
  },
  {
    what: "an unknown field in the config of a protecting plugin, whose route answers 503",
    items: protectedRoute("unknown-config", { plugin: "rate-limiting", config: { minute: 5, minutes: 5 } }),
    kind: "Plugin",
    name: "unknown-config",
    condition: "Accepted",
    reason: "Invalid",
    message: /spec\.config\.minutes: unknown field/,
    answers: [["/unknown-config", 503]],
  },
  {
    what: "a wrong type in the config of a protecting plugin, whose route answers 503",
    items: protectedRoute("wrong-config", { plugin: "rate-limiting", config: { minute: "sixty" } }),
    kind: "Plugin",
    name: "wrong-config",
    condition: "Accepted",
    reason: "Invalid",
    message: /spec\.config\.minute: expected a number/,
    answers: [["/wrong-config", 503]],
  },
  {
    what: "a misspelt plugin name, whose route answers 503 with or without a key",
    items: [...consumerObjects("misspelt", "misspelt"), ...protectedRoute("misspelt", { plugin: "key-atuh" })],
    kind: "Plugin",
    name: "misspelt",
    condition: "Accepted",
    reason: "Invalid",
    message: /spec\.plugin: plugin 'key-atuh' not enabled, did you mean key-auth\? Sluice has /,
    answers: [
      ["/misspelt", 503],
      ["/misspelt", 503, "misspelt"],
    ],
  },
  {
    what: "a plugin that Sluice does not have, on a service whose routes answer 503",
    items: [
      resourceObject("Service", "oauth2", { url: "http://127.0.0.1:1" }),
      routeObject("oauth2", { serviceRef: { name: "oauth2" } }),
      resourceObject("Plugin", "oauth2", { plugin: "oauth2", ...to("Service", "oauth2") }),
    ],
    kind: "Plugin",
    name: "oauth2",
    condition: "Accepted",
    reason: "Invalid",
    message:
      /spec\.plugin: plugin 'oauth2' not enabled: let an authorization server issue tokens, and verify them with the plugin openid-connect/,
    answers: [["/oauth2", 503]],
  },
  {
    what: "an unknown plugin that is disabled, on a route that is served",
    items: protectedRoute("unknown-off", { plugin: "oauth2", enabled: false }),
    kind: "Plugin",
    name: "unknown-off",
    condition: "Accepted",
    reason: "Invalid",
    message: /plugin 'oauth2' not enabled/,
    answers: [["/unknown-off", 200]],
  },
  {
    what: "a wrong type in the config of a plugin that does not protect, on a route that is served without it",
    items: protectedRoute("wrong-cors", { plugin: "cors", config: { max_age: "long" } }),
    kind: "Plugin",
    name: "wrong-cors",
    condition: "Accepted",
    reason: "Invalid",
    message: /spec\.config\.max_age: expected an integer/,
    answers: [["/wrong-cors", 200]],
  },
  {
    what: "a route to a missing service, which answers 503",
    items: [routeObject("lost")],
    kind: "Route",
    name: "lost",
    condition: "ResolvedRefs",
    reason: "ServiceNotFound",
    message: /spec\.serviceRef\.name: .*Service lost/,
    answers: [["/lost", 503]],
  },
  {
    what: "a plugin for a missing route",
    items: [resourceObject("Plugin", "lost", { plugin: "key-auth", ...to("Route", "nowhere") })],
    kind: "Plugin",
    name: "lost",
    condition: "ResolvedRefs",
    reason: "RouteNotFound",
    message: /spec\.targetRefs\[0\]\.name: .*Route nowhere/,
  },
  {
    what: "a missing entry in a Secret of a consumer, whose other key works",
    items: [
      ...protectedRoute("keys", { plugin: "key-auth" }),
      secretObjectOf("half-key", { key: "half" }),
      secretObjectOf("other-key", { wrong: "other" }),
      resourceObject("Consumer", "half", {
        username: "half",
        keyAuth: [{ secretRef: { name: "half-key", key: "key" } }, { secretRef: { name: "other-key", key: "key" } }],
      }),
    ],
    kind: "Consumer",
    name: "half",
    condition: "ResolvedRefs",
    reason: "SecretNotFound",
    message: /spec\.keyAuth\[1\]\.secretRef\.key: the Secret other-key has no entry key in its data/,
    answers: [
      ["/keys", 200, "half"],
      ["/keys", 401, "other"],
    ],
  },
  {
    what: "two routes with the same match, of which the older one is served",
    items: [routeObject("same-a", { ...echo, paths: ["/same"] }), routeObject("same-b", { ...echo, paths: ["/same"] })],
    kind: "Route",
    name: "same-b",
    condition: "Accepted",
    reason: "Conflicted",
    message: /the older Route default\/same-a matches the same requests: change hosts, paths, methods or headers/,
    answers: [["/same", 200]],
  },
  {
    what: "a key of two consumers, which the older consumer keeps",
    items: [...consumerObjects("twin-a", "twin"), ...consumerObjects("twin-b", "twin")],
    kind: "Consumer",
    name: "twin-b",
    condition: "Accepted",
    reason: "Conflicted",
    message: /the older Consumer default\/twin-a has this key: choose another/,
    answers: [["/keys", 200, "twin"]],
  },
];

const allNodes = async (form: BadInputProduct, path: string, key?: string) =>
  Promise.all(form.nodes.map(async (node) => (await getUrl(`${node}${path}`, key ? { apikey: key } : {})).status));

/**
 * Adds a test for each row of the table. A row's resources are not removed after its test, so they accumulate.
 *
 * @param options.refusedBySchema Whether an API server refuses the resources of rows with a `refusal`
 */
export function provesBadInput(
  form: BadInputProduct,
  { refusedBySchema }: { readonly refusedBySchema: boolean },
): void {
  for (const { what, items, kind, name, condition, reason, message, answers = [], refusal } of cases) {
    test(`${what}: the error is reported, and a valid route is still served`, async () => {
      if (refusal && refusedBySchema) await assert.rejects(form.put(...items), refusal);
      else {
        await form.put(...items);
        const said = await waitFor(
          async () =>
            (await form.conditions(kind, name)).find(({ type, status }) => type === condition && status === "False"),
          { what: `${kind} ${name} to have the condition` },
        );
        assert.equal(said.reason, reason);
        assert.match(said.message, message);
        for (const [path, status, key] of answers)
          await waitFor(async () => (await allNodes(form, path, key)).every((is) => is === status), {
            what: `${path} to answer ${status}`,
          });
      }
      assert.deepEqual(await allNodes(form, "/echo"), [200, 200]);
    });
  }
}
