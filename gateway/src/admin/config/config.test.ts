/**
 * GET and POST /config with a declarative file: the whole configuration as one document, as in Kong without a database.
 */
import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { deriveId, readYaml } from "@sluice/model";
import { type RequestOptions, startAdminRig } from "../testing.ts";
import { type FileRig, startFileRig } from "../testing-file.ts";

const first = `# somebody's file
_format_version: "3.0"
services:
- name: users
  host: users.example
  routes:
  - name: users
    paths: ["/users"]
`;

const parse = (text: string): unknown => readYaml(text).value?.data;

const users = { name: "users", host: "users.example", routes: [{ name: "users", paths: ["/users"] }] };
const document = { _format_version: "3.0", services: [users] };
const names = async (rig: FileRig, list: string) =>
  ((await rig.ask("GET", `/${list}`)).body as { data: { name: string }[] }).data.map(({ name }) => name).sort();

describe("a document sent to POST /config, with a read-only file as the store,", () => {
  let rig: FileRig;
  before(async () => {
    rig = await startFileRig(first);
  });
  after(() => rig.close());
  const post = (asking: RequestOptions, query = "") => rig.ask("POST", `/config${query}`, asking);
  const reset = async () => assert.equal((await post({ json: document })).status, 201);

  const bodies: readonly (readonly [string, (name: string) => RequestOptions])[] = [
    ["JSON", (name) => ({ json: { _format_version: "3.0", services: [{ name, host: "a" }] } })],
    [
      "text in JSON",
      (name) => ({ json: { config: `{"_format_version":"3.0","services":[{"name":"${name}","host":"a"}]}` } }),
    ],
    [
      "YAML",
      (name) => ({
        bytes: Buffer.from(`_format_version: "3.0"\nservices:\n- name: ${name}\n  host: a\n`),
        headers: [["Content-Type", "text/yaml"]],
      }),
    ],
    [
      "a form",
      (name) => ({
        form: `config=${encodeURIComponent(`_format_version: "3.0"\nservices: [{name: ${name}, host: a}]`)}`,
      }),
    ],
    [
      "a file in a form",
      (name) => ({
        bytes: Buffer.from(
          [
            "--b",
            'Content-Disposition: form-data; name="config"; filename="kong.yml"',
            "Content-Type: application/octet-stream",
            "",
            `_format_version: "3.0"\nservices: [{name: ${name}, host: a}]`,
            "--b--",
            "",
          ].join("\r\n"),
        ),
        headers: [["Content-Type", "multipart/form-data; boundary=b"]],
      }),
    ],
  ];
  for (const [what, asking] of bodies) {
    test(`replaces the whole configuration when it is sent as ${what}`, async () => {
      const name = what.replaceAll(" ", "-");
      const { status, body } = await post(asking(name));
      assert.equal(status, 201, JSON.stringify(body));
      const id = deriveId("services", name);
      assert.partialDeepStrictEqual(body, { services: { [id]: { id, name, host: "a", port: 80 } } });
      assert.deepEqual(await names(rig, "services"), [name]);
      assert.deepEqual(await names(rig, "routes"), []);
    });
  }

  const duplicates = `{"_format_version": "3.0", "partials": [], "services": [],\n "services": [{"name": "last", "host": "a"}]}`;
  const twice = "2:2: services: duplicate key: this value replaces the one at 1:44, which is ignored";
  const empty = "partials: ignored: Sluice has no 'partials' yet, and none are given";
  const warned: readonly (readonly [string, RequestOptions, string])[] = [
    ["YAML", { bytes: Buffer.from(duplicates), headers: [["Content-Type", "text/yaml"]] }, `${twice}; 1:28: ${empty}`],
    ["text in JSON", { json: { config: duplicates } }, `${twice}; 1:28: ${empty}`],
    ["JSON", { bytes: Buffer.from(duplicates), headers: [["Content-Type", "application/json"]] }, `${twice}; ${empty}`],
  ];
  for (const [what, asking, expected] of warned) {
    test(`is loaded, and a header reports the members that have no effect, if it is sent as ${what}`, async () => {
      for (const query of ["?plan=1", ""]) {
        const { status, headers, body } = await post(asking, query);
        assert.equal(status, query === "" ? 201 : 200, JSON.stringify(body));
        assert.equal(headers["x-sluice-warning"], expected);
      }
      assert.deepEqual(await names(rig, "services"), ["last"]);
      assert.equal((await post({ json: document })).headers["x-sluice-warning"], undefined);
    });
  }

  test("is kept in memory: the file is unchanged, and single writes are still refused", async () => {
    await reset();
    assert.equal(rig.text(), first);
    assert.equal((await rig.ask("POST", "/services", { form: "name=a&host=a" })).status, 405);
  });

  test("is not loaded if check_hash is set and the same document is loaded already", async () => {
    await reset();
    assert.equal((await post({ json: document }, "?check_hash=1")).status, 304);
    assert.equal((await post({ json: document })).status, 201);
    assert.equal((await post({ json: { ...document, services: [] } }, "?check_hash=1")).status, 201);
  });

  test("changes nothing if it has errors, and all its errors are returned in Kong's words", async () => {
    await reset();
    const services = [users, { name: "users", host: "b" }, { name: "bad", port: "80" }];
    const { status, body } = await post({ json: { _format_version: "3.0", services } });
    assert.equal(status, 400);
    const fields = {
      services: [
        null,
        "uniqueness violation: 'services' entity with name set to 'users' already declared",
        { host: "required field missing", port: "expected an integer" },
      ],
    };
    assert.deepEqual(body, {
      code: 14,
      name: "invalid declarative configuration",
      message:
        "declarative config is invalid: {services={[2]=\"uniqueness violation: 'services' entity with name set to " +
        '\'users\' already declared",[3]={host="required field missing",port="expected an integer"}}}',
      fields,
    });
    assert.deepEqual(await names(rig, "routes"), ["users"]);
  });

  test("has its errors grouped by entity if the request asks for that", async () => {
    const id = "11111111-1111-4111-8111-111111111111";
    const services = [
      {
        id,
        name: "a",
        host: "a",
        protocol: "tcp",
        path: "/x",
        tags: ["t"],
        routes: [{ name: "r", paths: ["/", "no"] }],
        plugins: [{ name: "rate-limiting", config: { minute: -1 } }],
      },
    ];
    const { status, body } = await post(
      { json: { _format_version: "3.0", services, nothing: 1 } },
      "?flatten_errors=1",
    );
    assert.equal(status, 400);
    const { flattened_errors: flattened, ...rest } = body as { flattened_errors: { entity_type: string }[] };
    assert.deepEqual(rest, {
      code: 14,
      name: "invalid declarative configuration",
      message: 'declarative config is invalid: {nothing="unknown field"}',
      fields: { nothing: "unknown field" },
    });
    const by = Object.fromEntries(flattened.map((one) => [one.entity_type, one]));
    assert.deepEqual(Object.keys(by).sort(), ["plugin", "route", "service"]);
    assert.partialDeepStrictEqual(by.service, {
      entity_id: id,
      entity_name: "a",
      entity_tags: ["t"],
      entity: { id, name: "a", host: "a", protocol: "tcp", path: "/x", tags: ["t"] },
    });
    assert.deepEqual(by.route, {
      entity_type: "route",
      entity_name: "r",
      entity: { name: "r", paths: ["/", "no"], service: { id } },
      errors: [{ type: "field", field: "paths.2", message: "should start with: / (fixed path) or ~/ (regex path)" }],
    });
    assert.partialDeepStrictEqual(by.plugin, {
      entity_name: "rate-limiting",
      errors: [{ type: "field", field: "config.minute", message: "value must be greater than 0" }],
    });
  });

  for (const [what, asking, status, message] of [
    ["an empty body", {}, 400, "expected a declarative configuration"],
    ["an empty form", { form: "config=" }, 400, "expected a declarative configuration"],
    [
      "text/plain",
      { bytes: Buffer.from("x"), headers: [["Content-Type", "text/plain"]] },
      415,
      "Unsupported media type",
    ],
    ["an empty record", { json: {} }, 400, 'declarative config is invalid: {_format_version="required field missing"}'],
    [
      "a body of more than 10 MB",
      { bytes: Buffer.alloc(11 * 2 ** 20, 32), headers: [["Content-Type", "text/yaml"]] },
      413,
      "Payload too large",
    ],
  ] as readonly (readonly [string, RequestOptions, number, string])[]) {
    test(`is refused if it is sent as ${what}, and the loaded configuration stays`, async () => {
      await reset();
      const reply = await post(asking);
      assert.equal(reply.status, status);
      assert.equal((reply.body as { message: string }).message, message);
      assert.deepEqual(await names(rig, "services"), ["users"]);
    });
  }

  test("is refused if it is not valid YAML", async () => {
    const reply = await post({ json: { config: "{" } }, "?flatten_errors=1");
    assert.equal(reply.status, 400);
    assert.partialDeepStrictEqual(reply.body, { code: 14, flattened_errors: [] });
  });

  test("is only planned with dry_run=1, and refused if plan or dry_run is neither true nor false", async () => {
    await reset();
    const json = { _format_version: "3.0" };
    assert.partialDeepStrictEqual((await post({ json }, "?dry_run=1")).body, { plan: true });
    assert.partialDeepStrictEqual((await post({ json: { ...json, dry_run: true } })).body, { plan: true });
    for (const query of ["?plan", "?plan=maybe", "?dry_run"]) assert.equal((await post({ json }, query)).status, 400);
    assert.equal((await rig.ask("GET", "/services/users")).status, 200);
  });

  test("is only planned with plan=1: the response lists each changed member, and nothing is loaded", async () => {
    await reset();
    const services = [
      { name: "users", host: "users.example", port: 81 },
      { name: "new", host: "n" },
    ];
    const { status, body } = await post({ json: { _format_version: "3.0", services } }, "?plan=1");
    assert.equal(status, 200);
    assert.partialDeepStrictEqual(body, {
      plan: true,
      created: [{ collection: "services", name: "new" }],
      changed: [{ collection: "services", name: "users" }],
      deleted: [{ collection: "routes", name: "users" }],
    });
    assert.match(JSON.stringify(body), /"port"/);
    assert.doesNotMatch(JSON.stringify(body), /updated_at/);
    assert.deepEqual(await names(rig, "routes"), ["users"]);
  });

  test("is shown in a form that can be loaded again", async () => {
    await reset();
    const { status, body } = await rig.ask("GET", "/config");
    assert.equal(status, 200);
    const { config } = body as { config: string };
    assert.partialDeepStrictEqual(parse(config), { _format_version: "3.0", services: [{ name: "users" }] });
    assert.equal((await post({ json: { config } }, "?check_hash=1")).status, 304);
  });

  test("is accepted in the form that Kong's ingress controller sends", async () => {
    const { body: root } = await rig.ask("GET", "/");
    assert.partialDeepStrictEqual(root, {
      version: "3.9.1",
      configuration: { database: "off", router_flavor: "traditional" },
    });
    const schema = await rig.ask("GET", "/schemas/plugins/key-auth");
    assert.equal(schema.status, 200);
    const plugins = [{ name: "key-auth", route: deriveId("routes", "users"), tags: ["k8s-name:a"] }];
    const pushed = {
      ...document,
      plugins,
      consumers: [{ username: "ann", keyauth_credentials: [{ key: "k1" }] }],
      upstreams: [{ name: "users.example", targets: [{ target: "10.0.0.1:8080", weight: 1 }] }],
    };
    const push = () => post({ json: pushed }, "?check_hash=1&flatten_errors=1");
    const before = ((await rig.ask("GET", "/status")).body as { configuration_hash: string }).configuration_hash;
    const { status, body } = await push();
    assert.equal(status, 201, JSON.stringify(body));
    const { body: after } = await rig.ask("GET", "/status");
    assert.notEqual((after as { configuration_hash: string }).configuration_hash, before);
    assert.equal((await push()).status, 304);
  });
});

describe("passwords of basic-auth", () => {
  const ann = { username: "ann", basicauth_credentials: [{ username: "ann", password: "open sesame" }] };
  const hashed = `$sha256$${hash("sha256", `${deriveId("consumers", "ann")}open sesame`)}`;
  const posted = { json: { _format_version: "3.0", consumers: [ann] } };
  let rig: FileRig;
  before(async () => {
    rig = await startFileRig(
      `_format_version: "3.0"
consumers:
  - username: ann
    basicauth_credentials:
      - username: ann
        password: open sesame
`,
      { SLUICE_FILE_WRITABLE: "true" },
    );
  });
  after(() => rig.close());

  for (const path of ["/basic-auths/ann", "/basic-auths", "/consumers/ann/basic-auth", "/config"]) {
    test(`are shown as hashes by GET ${path} if the file has them as plain text`, async () => {
      const { body } = await rig.ask("GET", path);
      assert.ok(JSON.stringify(body).includes(hashed), JSON.stringify(body));
      assert.doesNotMatch(JSON.stringify(body), /sesame/);
    });
  }

  test("stay unchanged in the file if a request has the same passwords, as plain text or as the shown hashes", async () => {
    const { config } = (await rig.ask("GET", "/config")).body as { config: string };
    const text = rig.text();
    assert.equal((await rig.ask("POST", "/config?check_hash=1", posted)).status, 304);
    assert.equal((await rig.ask("POST", "/config?check_hash=1", { json: { config } })).status, 304);
    assert.equal((await rig.ask("PATCH", "/basic-auths/ann", { json: { password: hashed } })).status, 200);
    assert.equal(rig.text(), text);
  });

  test("of a new document are stored and shown as hashes, and do not change if the document is loaded again", async () => {
    assert.equal((await rig.ask("POST", "/config", { json: { _format_version: "3.0" } })).status, 201);
    const { status, body } = await rig.ask("POST", "/config", posted);
    assert.equal(status, 201, JSON.stringify(body));
    for (const shown of [JSON.stringify(body), rig.text()]) {
      assert.ok(shown.includes(hashed), shown);
      assert.doesNotMatch(shown, /sesame/);
    }
    assert.equal((await rig.ask("POST", "/config?check_hash=1", posted)).status, 304);
  });
});

test("a loaded document is written to a writable file, which keeps its comment", async () => {
  const rig = await startFileRig(first, { SLUICE_FILE_WRITABLE: "true" });
  try {
    const services = [
      { ...users, port: 81 },
      { name: "new", host: "n" },
    ];
    assert.equal((await rig.ask("POST", "/config", { json: { ...document, services } })).status, 201);
    assert.match(rig.text(), /^# somebody's file/);
    assert.partialDeepStrictEqual(parse(rig.text()), { services: [{ name: "users", port: 81 }, { name: "new" }] });
  } finally {
    await rig.close();
  }
});

test("with custom resources, the plan of a document is applied once, and refused after another change", async (context) => {
  const rig = await startAdminRig();
  context.after(() => rig.close());
  const send = (path: string) => rig.ask("POST", path, { json: document });
  const planId = async () => String(((await send("/config?plan=1&keep=1")).body as { plan_id: string }).plan_id);
  assert.equal((await rig.ask("POST", "/services", { form: "name=other&host=a" })).status, 201);
  const id = await planId();
  const applied = await send(`/config/apply?keep=1&plan_id=${id}`);
  assert.equal(applied.status, 200, JSON.stringify(applied.body));
  assert.partialDeepStrictEqual(applied.body, { created: [{ collection: "services" }, { collection: "routes" }] });
  assert.equal((await rig.ask("GET", "/services/other")).status, 200);
  assert.equal((await send(`/config/apply?keep=1&plan_id=${id}`)).status, 412);
  const removing = await planId();
  assert.equal((await send(`/config/apply?plan_id=${removing}`)).status, 412, "the plan was made with keep=1");
});

test("if entities are custom resources, a document can only be planned and shown", async () => {
  const rig = await startAdminRig();
  try {
    const refused = await rig.ask("POST", "/config", { json: document });
    assert.equal(refused.status, 400);
    assert.deepEqual(refused.body, {
      message:
        "this endpoint is only available when Sluice is configured to keep entities in a declarative file (SLUICE_STORE=file)",
    });
    const { status, body } = await rig.ask("POST", "/config?plan=1", { json: document });
    assert.equal(status, 200, JSON.stringify(body));
    assert.partialDeepStrictEqual(body, {
      created: [{ collection: "services" }, { collection: "routes" }],
      requests: { left_out: [] },
    });
    assert.equal((await rig.ask("GET", "/config")).status, 200);
  } finally {
    await rig.close();
  }
});
