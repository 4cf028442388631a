/** Distinguishes errors of the storage from those of CAs. */
import type { AcmeStorage } from "./types.ts";

/** The attempt ended, although the CA has not failed. */
export class StorageFailure extends Error {
  override readonly name = "StorageFailure";
  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
  }
}

/** An error of `publishChallenges` stays as it is: it counts as a failure of the order. */
export const withStorageFailures = (storage: AcmeStorage): AcmeStorage => ({
  account: (directory) => wrapped(storage.account(directory)),
  putAccount: (directory, account) => wrapped(storage.putAccount(directory, account)),
  state: (id) => wrapped(storage.state(id)),
  putState: (id, state) => wrapped(storage.putState(id, state)),
  putCertificate: (id, pair) => wrapped(storage.putCertificate(id, pair)),
  publishChallenges: (id, challenges) => storage.publishChallenges(id, challenges),
});

const wrapped = <Result>(promise: Promise<Result>): Promise<Result> =>
  promise.catch((error: unknown) => {
    throw new StorageFailure(error);
  });
