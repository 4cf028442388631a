/** Schemas of members that occur several times in the config of openid-connect. */
import { array, nullable, text } from "@sluice/plugin-sdk";

export const MAX_URL = 2048;

export const urlMember = (description: string) => nullable(text({ description, maxLength: MAX_URL }));

const PATH_NOTE = "Several names are the path to a claim in nested objects.";

const MAX_DEPTH = 8;
const MAX_NAMES = 64;

const name = (description: string) => text({ description, maxLength: 256 });

/** The path to a claim: the names of the nested objects that contain it, and its own name. */
export const claimPath = (description: string, defaults: readonly string[]) =>
  array(name("The name of a claim."), {
    description: `${description} ${PATH_NOTE}`,
    default: [...defaults],
    minItems: 1,
    maxItems: MAX_DEPTH,
  });

export const optionalClaimPath = (description: string) =>
  nullable(
    array(name("The name of a claim."), {
      description: `${description} ${PATH_NOTE}`,
      minItems: 1,
      maxItems: MAX_DEPTH,
    }),
  );

/** A list of which a token needs at least one item. If the item has several words, the token needs all of them. */
export const requirementMember = (subject: string, claim: string) =>
  nullable(
    array(text({ description: "One or several words, separated by spaces.", maxLength: 1024 }), {
      description:
        `${subject} that tokens need in the claim that \`${claim}\` names. A token needs at least one of the items. ` +
        "If an item has several words, separated by spaces, the token needs all of them.",
      maxItems: 64,
    }),
  );

export const optionalNames = (description: string) =>
  nullable(array(name("A name."), { description, maxItems: MAX_NAMES }));

interface SingleOptions {
  readonly maxLength: number;
  readonly secret?: true;
  readonly referenceable?: true;
}

/** A list in Kong; Sluice supports lists with at most one item. */
export const singleValue = (description: string, options: SingleOptions) => {
  const { secret, ...rest } = options;
  return nullable(
    array(text({ description: "The value.", ...rest }), { description, maxItems: 1, ...(secret && { secret }) }),
  );
};
