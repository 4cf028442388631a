/** The program of every stack; the stack's config determines the objects and their values. */
import { getStack } from "@pulumi/pulumi";
import { loadConfig, type StackConfig } from "./config.ts";
import { createCrds } from "./crds.ts";
import { checkBeforeCreating, STACK_LABEL } from "./ownership/check-existing.ts";
import { createReader, hasGatewayApi } from "./ownership/reader.ts";
import { enforcePolicies } from "./policy/enforce.ts";
import { createSluice, labelAllObjects, type Outputs, waitAtMost } from "./stack.ts";

const config = loadConfig();
const refuseFaults = enforcePolicies(config.creates === "sluice" && config.isPublic);
const read = createReader();
const mayCreate = checkBeforeCreating(getStack(), read);
labelAllObjects(STACK_LABEL, getStack());
if (config.creates === "sluice" && config.timeout !== undefined) waitAtMost(config.timeout);

const outputs = await create(config);
refuseFaults();
await mayCreate();

/** The outputs of the stack; a stack of CRDs has none. */
export default outputs;

async function create(stack: StackConfig): Promise<Partial<Outputs>> {
  if (stack.creates === "sluice")
    return createSluice({ ...stack, release: { ...stack.release, hasGatewayApi: await hasGatewayApi(read) } });
  createCrds();
  return {};
}
