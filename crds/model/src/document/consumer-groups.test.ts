/** Consumer groups in the forms of declarative files. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { describeViolation } from "./describe.ts";
import { loadText } from "./load.ts";

const head = '_format_version: "3.0"\n';
const flat = `${head}consumers: [{username: ann}, {username: bob}]
consumer_groups: [{name: gold}, {name: silver}]
consumer_group_consumers:
- {consumer: ann, consumer_group: gold}
- {consumer: ann, consumer_group: silver}
- {consumer: bob, consumer_group: gold}
`;
const ofDeck = `${head}consumers:
- {username: ann, groups: [{name: gold, tags: [x]}, {name: silver}]}
- {username: bob}
consumer_groups:
- {name: gold, consumers: [{username: bob}]}
- {name: silver}
`;
const nested = `${head}consumers:
- {username: ann, consumer_group_consumers: [{consumer_group: gold}, {consumer_group: silver}]}
- {username: bob}
consumer_groups:
- {name: gold, consumer_group_consumers: [{consumer: bob}]}
- {name: silver}
`;

const hashOf = (text: string) => {
  const { value, violations } = loadText(text);
  return value?.snapshot.hash ?? assert.fail(JSON.stringify(violations));
};

test("a file in decK's form, a nested file and a flat file define the same memberships", () => {
  assert.equal(hashOf(ofDeck), hashOf(flat));
  assert.equal(hashOf(nested), hashOf(flat));
});

const faulty: readonly (readonly [what: string, text: string, fault: string])[] = [
  [
    "a group that the file does not define",
    "consumers: [{username: ann, groups: [{name: gold}]}]\n",
    "consumers[0].groups[0].consumer_group: invalid reference 'consumer_group: gold' (no such entry in 'consumer_groups')",
  ],
  [
    "an entry of a consumer's groups without a name",
    "consumers: [{username: ann, groups: [{tags: [a]}]}]\n",
    "consumers[0].groups[0].consumer_group.id: missing primary key",
  ],
  [
    "the same group twice in one consumer",
    "consumers: [{username: ann, groups: [{name: gold}, {name: gold}]}]\nconsumer_groups: [{name: gold}]\n",
    "consumers[0].groups[1]: ",
  ],
  [
    "a plugin of both a consumer and a group",
    "consumers: [{username: ann}]\nconsumer_groups: [{name: gold}]\n" +
      "plugins: [{name: request-termination, consumer: ann, consumer_group: gold}]\n",
    "plugins[0].consumer_group: a plugin cannot be attached to both a consumer and a consumer group",
  ],
];
for (const [what, text, fault] of faulty) {
  test(`loadText refuses ${what}`, () => {
    const said = (loadText(head + text, { file: "k" }).violations ?? []).map(describeViolation);
    assert.ok(
      said.some((one) => one.includes(fault)),
      said.join("\n"),
    );
  });
}
