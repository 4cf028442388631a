import assert from "node:assert/strict";
import { test } from "node:test";
import { type CheckedEntity, type Collection, checkEntity, credentialCollections, type Entities } from "@sluice/model";
import fc from "fast-check";
import type { Resource } from "../resource.ts";
import { credentialSecret } from "./secrets.ts";
import { arbitraries } from "./testing-arbitraries.ts";
import { AUTHORITY, CERTIFICATE, CONSUMER, GROUP, ROUTE, SERVICE, UPSTREAM } from "./testing-example.ts";
import { certificateSecret } from "./tls-secrets.ts";
import { type ResourceCollection, type ToResourceOptions, toResource } from "./to-resource/to-resource.ts";
import { translateToEntities } from "./translate.ts";
import type { TranslateOptions } from "./translation.ts";

const filled = <Name extends Collection>(collection: Name): fc.Arbitrary<CheckedEntity<Name>> =>
  arbitraries[collection].map((raw) => {
    const { value, violations } = checkEntity(collection, raw);
    assert.ok(value, JSON.stringify([violations, raw]));
    return value;
  });

const places = new Map([
  [SERVICE, "a-service"],
  [ROUTE, "a-route"],
  [CONSUMER, "a-consumer"],
  [GROUP, "a-group"],
  [CERTIFICATE, "a-certificate"],
  [AUTHORITY, "an-authority"],
]);
const ids = new Map([...places].map(([id, resource]) => [resource, id]));

const writing: ToResourceOptions = {
  namespace: "home",
  locate: (_, id) => ({ namespace: "home", name: places.get(id) ?? "missing" }),
};

const reading = (secrets: readonly Resource[] = []): TranslateOptions => ({
  homeNamespace: "home",
  resolve: (_, __, resource) => ids.get(resource),
  read: (_, __, resource) => secrets.find(({ metadata }) => metadata.name === resource),
  isReferenceAllowed: () => false,
  namespacesOpenTo: () => [],
  audience: "admin",
});

/** The resource as a server or a file would return it. */
function stored<Name extends ResourceCollection>(
  collection: Name,
  entity: Entities[Name],
  options: ToResourceOptions = writing,
): Resource {
  const { value, violations } = toResource(collection, entity, options);
  assert.ok(value, JSON.stringify(violations));
  return JSON.parse(JSON.stringify(value));
}

for (const collection of [
  "ca_certificates",
  "upstreams",
  "services",
  "routes",
  "plugins",
  "consumers",
  "consumer_groups",
  "vaults",
  "graphql_documents",
] as const) {
  test(`${collection} are read from their resources as they were written, with their ids`, () => {
    fc.assert(
      fc.property(filled(collection), (entity) => {
        const [back, ...more] = translateToEntities(stored(collection, entity as never), reading());
        assert.deepEqual(back?.violations, []);
        assert.deepEqual(back?.entity, entity);
        assert.deepEqual(more, []);
      }),
      { numRuns: 60 },
    );
  });

  test(`${collection} that are written over a previous resource are read from it with exactly their new members`, () => {
    fc.assert(
      fc.property(filled(collection), filled(collection), (before, entity) => {
        const previous = stored(collection, before as never);
        const resource = stored(collection, entity as never, { ...writing, previous });
        assert.equal(resource.metadata.name, previous.metadata.name);
        assert.deepEqual(translateToEntities(resource, reading())[0]?.entity, entity);
      }),
      { numRuns: 40 },
    );
  });
}

for (const collection of credentialCollections) {
  test(`an entity of ${collection} is read from its Consumer, and from its Secret if it has one, with all members, id and time`, () => {
    const { value } = checkEntity("consumers", { username: "demo", id: CONSUMER });
    assert.ok(value);
    fc.assert(
      fc.property(filled(collection), (entity) => {
        const made = credentialSecret(collection, entity, { namespace: "home" });
        const secretRefs = new Map(made && [[entity.id, made.secretRef]]);
        const resource = stored("consumers", value, { ...writing, children: { [collection]: [entity] }, secretRefs });
        assert.deepEqual(translateToEntities(resource, reading(made ? [made.secret] : []))[1]?.entity, entity);
      }),
      { numRuns: 60 },
    );
  });
}

test("targets are read from their upstream as they were written, with ids and times; they remain if a write omits the list of targets, and an empty list removes them", () => {
  fc.assert(
    fc.property(
      filled("upstreams"),
      fc.uniqueArray(filled("targets"), { maxLength: 5, selector: ({ target }) => target }),
      (entity, given) => {
        const upstream = { ...entity, id: UPSTREAM };
        const resource = stored("upstreams", upstream, { ...writing, children: { targets: given } });
        const read = (from: Resource) => translateToEntities(from, reading()).map((item) => item.entity);
        assert.deepEqual(read(resource), [upstream, ...given]);
        const renamed = { ...upstream, name: "renamed" };
        assert.deepEqual(read(stored("upstreams", renamed, { ...writing, previous: resource })), [renamed, ...given]);
        const emptied = stored("upstreams", upstream, { ...writing, previous: resource, children: { targets: [] } });
        assert.deepEqual(read(emptied), [upstream]);
      },
    ),
    { numRuns: 60 },
  );
});

test("a certificate is read with its SNIs from its resource and its Secret, which alone contains PEM; a write that omits the SNIs and the reference to the Secret keeps both", () => {
  fc.assert(
    fc.property(
      filled("certificates"),
      fc.uniqueArray(filled("snis"), { maxLength: 4, selector: ({ name }) => name }),
      (entity, snis) => {
        const certificate = { ...entity, id: CERTIFICATE };
        const { secret, secretRef } = certificateSecret(certificate, { namespace: "home" });
        const resource = stored("certificates", certificate, { ...writing, children: { snis }, secretRef });
        const read = (from: Resource) => translateToEntities(from, reading([secret])).map((item) => item.entity);
        assert.deepEqual(read(resource), [certificate, ...snis]);
        assert.doesNotMatch(JSON.stringify(resource), /BEGIN/);
        const tagged = { ...certificate, tags: ["new"] };
        assert.deepEqual(read(stored("certificates", tagged, { ...writing, previous: resource })), [tagged, ...snis]);
      },
    ),
    { numRuns: 40 },
  );
});
