import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { testTranslateStage } from "./testing-translate-stage.ts";

/** A stage whose documents are recorded: their hosts, and the changed resources, or null for a full translation. */
function scene(t: TestContext) {
  const made = testTranslateStage(t);
  const documents: { readonly hosts: readonly string[]; readonly changed: readonly string[] | null }[] = [];
  made.translate.documents.subscribe(({ built, changed }) => {
    const hosts = [...built.snapshot.services.values()].map(({ host }) => host).sort();
    documents.push({ hosts, changed: changed && [...changed] });
  });
  return { ...made, documents };
}
const service = (host: string) => ({ spec: { url: `http://${host}` } });

test("after status writes, however many, a change causes only the changed resource to be translated again", async (t) => {
  const { put, changed, settled, documents } = scene(t);
  const names = Array.from({ length: 2000 }, (_, at) => `s${at}`);
  for (const name of names) put("Service", name, service(`${name}.test`));
  changed(names.map((name) => `default/${name}`));
  await settled();
  for (const name of names) changed([`default/${name}`], { isMeaningful: false });
  put("Service", "s7", service("changed.test"));
  changed(["default/s7"]);
  await settled();
  assert.deepEqual(
    documents.map((one) => one.changed),
    [null, ["Service/default/s7"]],
  );
  assert.ok(documents[1]?.hosts.includes("changed.test"));
});

test("all changes that arrive before a translation starts are in one document", async (t) => {
  const { put, changed, settled, documents, translate } = scene(t);
  assert.equal(translate.isUpToDate(), false);
  for (const name of ["a", "b"]) {
    put("Service", name, service(`${name}.test`));
    changed([`default/${name}`]);
  }
  assert.equal(translate.isDirty(), true);
  await settled();
  assert.deepEqual([translate.isUpToDate(), documents], [true, [{ hosts: ["a.test", "b.test"], changed: null }]]);
});

test("nothing is translated before the cluster and the saved state have been read", async (t) => {
  const { put, changed, state, restore, settled, documents, translate } = scene(t);
  put("Service", "a", service("a.test"));
  Object.assign(state, { unsynced: ["Route"], isRead: false });
  changed(["default/a"]);
  await settled();
  assert.deepEqual([documents, translate.unsynced()], [[], ["Route", "saved state"]]);
  state.unsynced = [];
  state.isRead = true;
  restore(null);
  await settled();
  assert.deepEqual([documents.map(({ hosts }) => hosts), translate.isUpToDate()], [[["a.test"]], true]);
});

test("a restored version replaces an invalid resource, and the gate is told when the next document is published", async (t) => {
  const { put, changed, restore, settled, documents, calls } = scene(t);
  const valid = put("Service", "a", service("valid.test"));
  put("Service", "a", { spec: { url: "no URL" } });
  changed(["default/a"]);
  await settled();
  calls.length = 0;
  restore(new Map([["Service/default/a", valid]]));
  await settled();
  assert.deepEqual(
    documents.map(({ hosts }) => hosts),
    [[], ["valid.test"]],
  );
  assert.deepEqual(calls, ["stateRestored true", "translationStarted", "translationPublished"]);
});

test("a translation that fails is reported to the gate, and the next change translates everything", async (t) => {
  const { put, changed, settled, documents, calls, clusterState, failOnce } = scene(t);
  put("Service", "a", service("a.test"));
  changed(["default/a"]);
  await settled();
  calls.length = 0;
  failOnce();
  changed(["default/a"]);
  await settled();
  assert.deepEqual(calls, ["translationStarted", "translationFailed"]);
  assert.equal(clusterState.Service.size, 1);
  changed(["default/a"]);
  await settled();
  assert.deepEqual(
    documents.map((one) => one.changed),
    [null, null],
  );
});

test("challenges of certificate orders are published at once, without a change of the resources", async (t) => {
  const { put, changed, settled, translate, setChallenges } = scene(t);
  const found: unknown[] = [];
  translate.documents.subscribe(({ built: { snapshot } }) => {
    for (const { _sluice } of snapshot.certificates.values()) found.push(_sluice?.challenges);
  });
  put("Certificate", "web", { spec: { acme: {}, snis: [{ name: "a.test" }] } });
  let id = "";
  translate.documents.subscribe(({ built }) => {
    [id = ""] = built.snapshot.certificates.keys();
  });
  changed([]);
  await settled();
  const challenge = { type: "http-01", domain: "a.test", token: "t", key_authorization: "t.k" } as const;
  setChallenges(new Map([[id, [challenge]]]));
  await settled();
  setChallenges(new Map());
  await settled();
  assert.deepEqual(found, [undefined, [challenge], undefined]);
});
