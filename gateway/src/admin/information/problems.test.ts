import assert from "node:assert/strict";
import { test } from "node:test";
import { checkEntity } from "@sluice/model";
import type { StoreProblem } from "../../stores/store.ts";
import type { AdminRequest } from "../requests.ts";
import { testingSettings } from "../testing.ts";
import { createTestingStore } from "../testing-store.ts";
import { problemRoutes } from "./problems.ts";

const route: StoreProblem = {
  resource: { kind: "Route", namespace: "shop", name: "cart" },
  entity: null,
  place: null,
  condition: "ResolvedRefs",
  reason: "ServiceNotFound",
  message: "there is no Service cart",
  suggested: [],
};
const programmed = { ...route, condition: "Programmed", message: `${route.message}; it is not served` };
const line: StoreProblem = {
  ...{ resource: null, entity: null, place: "sluice.yml:3:5", condition: null, reason: null },
  message: "port: expected an integer",
  suggested: [],
};

async function reported(problems: readonly StoreProblem[], store: string) {
  const opened = createTestingStore();
  const settings = testingSettings({ SLUICE_STORE: store, SLUICE_DIRECTORY: "/etc/sluice" });
  const [found] = problemRoutes({
    settings,
    store: { ...opened.store, problems: async () => problems },
  });
  const response = await found?.handlers.GET?.({} as AdminRequest);
  return response?.body as {
    readonly data: readonly (StoreProblem & { readonly remedy: string })[];
    readonly total: number;
  };
}

test("conditions of a resource that are false for the same reason are one problem, with the longest message", async () => {
  const { data, total } = await reported([route, programmed, { ...route, reason: "Conflicted" }], "cluster");
  assert.equal(total, 2);
  assert.deepEqual(
    data.map(({ condition, message }) => [condition, message]),
    [
      ["Programmed", programmed.message],
      ["ResolvedRefs", route.message],
    ],
  );
});

for (const [what, problem, store, remedy] of [
  ["a missing reference", {}, "cluster", /^Create what .* reference: kubectl -n shop edit routes\.sluice\.dev cart$/],
  [
    "invalid GraphQL documents",
    { reason: "Invalid", resource: { kind: "GraphQLDocuments", namespace: "shop", name: "web" } },
    "cluster",
    /^Correct the resource: kubectl -n shop edit graphqldocuments\.sluice\.dev web$/,
  ],
  ["a missing Secret", { reason: "SecretNotFound" }, "cluster", /^Create the Secret or its entry, or add the label/],
  ["a reference that is not permitted", { reason: "RefNotPermitted" }, "cluster", /ReferenceGrant/],
  ["an invalid resource", { reason: "Invalid" }, "cluster", /^Correct the resource: kubectl -n shop edit /],
  [
    "an invalid resource",
    { reason: "Invalid" },
    "directory",
    /^Correct the resource, in its file in the folder \/etc\/sluice\.$/,
  ],
  ["an invalid line of a file", line, "file", /the last valid version of the file/],
] as const)
  test(`the remedy for ${what} in a ${store} says what to change`, async () => {
    const { data } = await reported([{ ...route, ...problem }], store);
    assert.match(data[0]?.remedy ?? "", remedy);
  });

test("plugins whose GraphQL documents do not exist are warnings, unless conditions of custom resources report them", async () => {
  const given = {
    id: "00000000-0000-4000-8000-000000000001",
    name: "graphql",
    instance_name: "trusted",
    config: { trusted_documents: { documents: ["web"] } },
  };
  const { value: entity = assert.fail("the plugin is not valid") } = checkEntity("plugins", given);
  const { store } = createTestingStore([{ collection: "plugins", entity }]);
  const warningsOf = async (kind: string) => {
    const settings = testingSettings({ SLUICE_STORE: kind, SLUICE_DIRECTORY: "/etc/sluice" });
    const response = await problemRoutes({ settings, store })[0]?.handlers.GET?.({} as AdminRequest);
    return Object(response?.body).warnings as unknown;
  };
  for (const kind of ["file", "database"])
    assert.deepEqual(await warningsOf(kind), [
      {
        subject: "plugin trusted",
        message:
          "names GraphQL documents that do not exist (web): requests in the scope of the plugin are answered with 503 " +
          "until they exist",
        remedy: "Add the documents to graphql_documents, or correct trusted_documents.documents of the plugin.",
        entity: { collection: "plugins", id: given.id },
      },
    ]);
  for (const kind of ["cluster", "directory"]) assert.deepEqual(await warningsOf(kind), []);
});

const [tcpRoute, service] = ["00000000-0000-4000-8000-000000000002", "00000000-0000-4000-8000-000000000003"];
const ofRoute = { route: { id: tcpRoute } };

const protocolCases: readonly (readonly [plugin: object, message: string | null])[] = [
  [
    { name: "file-log", config: { path: "/dev/null" }, ...ofRoute },
    "the protocols of the plugin (grpc, grpcs, http, https) match none of the route's (tcp): the plugin has no effect on the route",
  ],
  [
    { name: "file-log", config: { path: "/dev/null" }, service: { id: service }, protocols: ["http"] },
    "the protocols of the plugin (http) match none of the route's (tcp): the plugin has no effect on the route",
  ],
  [
    { name: "key-auth", ...ofRoute },
    "the protocols of the plugin (grpc, grpcs, http, https) match none of the route's (tcp): the connections are closed, because the plugin acts on requests only",
  ],
  [{ name: "file-log", config: { path: "/dev/null" }, protocols: ["http", "tcp"], ...ofRoute }, null],
  [{ name: "ip-restriction", config: { deny: ["10.0.0.1"] }, ...ofRoute }, null],
  [{ name: "concurrency-limiting", config: { limit: 1 }, ...ofRoute }, null],
  [{ name: "file-log", config: { path: "/dev/null" }, enabled: false, ...ofRoute }, null],
  [{ name: "file-log", config: { path: "/dev/null" } }, null],
];
for (const [plugin, message] of protocolCases)
  test(`a plugin ${message === null ? "is no problem" : "whose protocols match no route is a warning"}: ${JSON.stringify(plugin)}`, async () => {
    const entities = [
      ["services", { id: service, name: "db", host: "db.example", protocol: "tcp" }],
      ["routes", { id: tcpRoute, protocols: ["tcp"], destinations: [{ port: 1 }], service: { id: service } }],
      ["plugins", { id: "00000000-0000-4000-8000-000000000001", instance_name: "one", ...plugin }],
    ] as const;
    const { store } = createTestingStore(
      entities.map(([collection, given]) => {
        const { value: entity = assert.fail(collection) } = checkEntity(collection, given);
        return { collection, entity };
      }),
    );
    const settings = testingSettings({ SLUICE_STORE: "database" });
    const response = await problemRoutes({ settings, store })[0]?.handlers.GET?.({} as AdminRequest);
    const warnings = Object(response?.body).warnings as readonly {
      readonly subject: string;
      readonly message: string;
    }[];
    assert.deepEqual(
      warnings.map(({ subject, message: text }) => [subject, text]),
      message === null ? [] : [["plugin one", message]],
    );
  });
