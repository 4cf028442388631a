/** One write after the other: what a write looks at stays true until it has written. */
export function createTurns(): <Result>(run: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const mine = last.then(run, run);
    last = mine.catch(() => undefined);
    return mine;
  };
}
