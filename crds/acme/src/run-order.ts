/** One order: from its placement, or from the step at which an earlier process left it, to the certificate. */
import type { AcmeChallenge } from "@sluice/model";
import { type Authorization, crypto, type Order } from "acme-client";
import { AcmeProblem, problemOf } from "./problem.ts";
import { chainFault } from "./renewal.ts";
import { type AcmeSession, newPrivateKey } from "./session.ts";
import type { AcmeClock, AcmeState, AcmeStorage, OrderedCertificate } from "./types.ts";

export interface OrderRun {
  readonly certificate: OrderedCertificate;
  readonly domains: readonly string[];
  /** The id of the present certificate (RFC 9773 section 4.1); null: there is none. */
  readonly replaces: string | null;
  /** The order that is under way; null: none. */
  readonly resumed: AcmeState["order"];
  readonly session: AcmeSession;
  readonly storage: Pick<AcmeStorage, "publishChallenges">;
  readonly clock: AcmeClock;
  /** Aborted when the process ends, or the certificate is no longer ordered. */
  readonly signal: AbortSignal;
  /** Aborted when the process ends: the next process continues with the same challenges. */
  readonly closing: AbortSignal;
  /** Stores the order before its next step; null: there is none. */
  readonly saveOrder: (order: AcmeState["order"]) => Promise<void>;
}

/** Milliseconds between two requests for the state of an order: each wait is twice as long as the previous one. */
const FIRST_WAIT = 250;
const LONGEST_WAIT = 10_000;
/** Milliseconds after which an order that makes no progress has failed. */
const PATIENCE = 5 * 60_000;

/** @throws AcmeProblem if the CA refuses, or does not finish in time. */
export async function runOrder(run: OrderRun): Promise<{ readonly cert: string; readonly key: string }> {
  const { session, storage, certificate, domains, closing } = run;
  const { order: started, key } = await resumeOrPlace(run);
  let order = started;
  try {
    if (order.status === "pending") {
      await validate(run, order);
      order = await untilChanged(run, order, ["pending"]);
    }
  } finally {
    // An earlier process may have left challenges, too.
    if (!closing.aborted) await storage.publishChallenges(certificate.id, []).catch(() => undefined);
  }
  if (order.status === "ready") order = await session.finalize(order, domains, key);
  order = await untilChanged(run, order, ["ready", "processing"]);
  if (order.status !== "valid")
    throw problemOf(order.error, `the CA has declared the order of ${certificate.name} ${order.status}`);
  const cert = await session.certificate(order);
  const fault = chainFault(cert, { domains, key, now: run.clock.now() });
  // The order stays: a clock that was wrong, or a response that was cut off, needs no other one.
  if (fault !== null) throw new AcmeProblem(`the certificate that the CA has issued cannot be used: ${fault}`);
  return { cert, key };
}

async function resumeOrPlace(run: OrderRun): Promise<{ readonly order: Order; readonly key: string }> {
  const { resumed, session, domains, certificate, saveOrder, replaces } = run;
  if (resumed !== null) {
    const order = await session.order(resumed.url).catch((error: unknown) => {
      // The CA no longer knows the order, or it belongs to an account that the CA has removed.
      if (error instanceof AcmeProblem && [400, 401, 403, 404].includes(error.status ?? 0)) return null;
      throw error;
    });
    if (order !== null && order.status !== "invalid") return { order, key: resumed.key };
  }
  const key = await newPrivateKey(certificate.acme.key_type);
  // If the storage cannot be written, no order is placed: it would be lost, and each attempt would place another one.
  await saveOrder(null);
  const order = await session.newOrder(domains, replaces);
  await saveOrder({ url: order.url, key });
  return { order, key };
}

/** Lets the nodes answer the challenges of all names that are not validated yet, and the CA validate them. */
async function validate(run: OrderRun, order: Order): Promise<void> {
  const { session, storage, certificate, signal, closing } = run;
  const pending = (await session.authorizations(order)).filter(({ status }) => status === "pending");
  const challenges = pending.map((authorization) => ({
    authorization,
    challenge: wantedChallenge(run, authorization),
  }));
  const published = await Promise.all(challenges.map((each) => publishedChallenge(session, each)));
  // Only the end of the process interrupts this wait for nodes: otherwise, challenges could reach nodes after their
  // removal.
  await unlessAborted(storage.publishChallenges(certificate.id, published), closing);
  signal.throwIfAborted();
  for (const { challenge } of challenges) await session.startValidation(challenge);
  await untilValidated(run, order);
}

type Challenge = Authorization["challenges"][number];

/** RFC 8555 section 8.3. */
const TOKEN = /^[\w-]{1,256}$/;

/** The wait for nodes must not delay the end of the process. */
async function unlessAborted(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener("abort", abort);
  try {
    await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

function wantedChallenge({ certificate: { acme } }: OrderRun, { identifier, challenges }: Authorization): Challenge {
  const found = challenges.find(({ type }) => type === (acme.challenge as string));
  if (found !== undefined) return found;
  const offered = challenges.map(({ type }) => type).join(", ");
  throw new AcmeProblem(`the CA does not validate ${identifier.value} by ${acme.challenge}, but by ${offered}`);
}

async function publishedChallenge(
  session: AcmeSession,
  { authorization, challenge }: { readonly authorization: Authorization; readonly challenge: Challenge },
): Promise<AcmeChallenge> {
  const domain = authorization.identifier.value;
  if (!TOKEN.test(challenge.token))
    throw new AcmeProblem(`the CA's token for ${domain} is not text in base64url of at most 256 characters`);
  const authorized = await session.keyAuthorization(challenge);
  if (challenge.type === "http-01")
    return { type: "http-01", domain, token: challenge.token, key_authorization: authorized };
  const [key, cert] = await crypto.createAlpnCertificate(authorization, authorized, await newPrivateKey("ecdsa"));
  return { type: "tls-alpn-01", domain, cert: `${cert}`, key: `${key}` };
}

async function untilValidated(run: OrderRun, order: Order): Promise<void> {
  await poll(run, async () => {
    const found = await run.session.authorizations(order);
    const failed = found.find(({ status }) => status !== "pending" && status !== "valid");
    if (failed !== undefined) {
      const { error } = failed.challenges.find((each) => each.error !== undefined) ?? {};
      const { value } = failed.identifier;
      const problem = problemOf(error, `the authorization is ${failed.status}`);
      throw new AcmeProblem(`the CA could not validate ${value}: ${problem.message}`, { type: problem.type });
    }
    return found.every(({ status }) => status === "valid") ? true : undefined;
  });
}

function untilChanged(run: OrderRun, order: Order, from: readonly Order["status"][]): Promise<Order> {
  let present = order;
  return poll(run, async () => {
    if (!from.includes(present.status)) return present;
    present = await run.session.order(order.url);
    return from.includes(present.status) ? undefined : present;
  });
}

async function poll<Result>(
  { clock, signal, certificate }: OrderRun,
  read: () => Promise<Result | undefined>,
): Promise<Result> {
  const end = clock.now() + PATIENCE;
  for (let wait = FIRST_WAIT; ; wait = Math.min(wait * 2, LONGEST_WAIT)) {
    signal.throwIfAborted();
    const result = await read();
    if (result !== undefined) return result;
    if (clock.now() > end)
      throw new AcmeProblem(
        `the CA did not continue the order of ${certificate.name} within ${PATIENCE / 60_000} minutes`,
      );
    await clock.sleep(wait, signal);
  }
}
