/** The program of every stack: what it creates, and with which values, says the stack's config. */
import { getStack } from "@pulumi/pulumi";
import { loadConfig, type StackConfig } from "./config.ts";
import { createCrds } from "./crds.ts";
import { enforce } from "./policy/enforce.ts";
import { createSluice, type Outputs, ownEverything, STACK_LABEL } from "./stack.ts";

const config = loadConfig();
const refuseFaults = enforce({ public: config.creates === "sluice" && config.isPublic });
ownEverything(STACK_LABEL, getStack());

/** The outputs of the stack: a stack of CRDs has none. */
export const { namespace, name, proxyAddress, adminAddress, adminToken, usersAddress, consumerKey, forward } =
  create(config);

refuseFaults();

function create(stack: StackConfig): Partial<Outputs> {
  if (stack.creates === "sluice") return createSluice(stack);
  createCrds();
  return {};
}
