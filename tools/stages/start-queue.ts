interface WaitingTask {
  readonly limit: number;
  start(): void;
}

/** A task of a `StartQueue`. */
export interface QueuedTask<Value> {
  /** Resolves when the task starts. */
  readonly started: Promise<void>;
  /** Settles as the task does. */
  readonly ended: Promise<Value>;
}

/**
 * Starts tasks in the order in which they were added. The stages of `npm test` share one queue, so that the files of a
 * stage start as soon as the last files of the stage before leave a core idle.
 */
export class StartQueue {
  readonly #waiting: WaitingTask[] = [];
  #running = 0;

  /** @param limit The task starts when fewer tasks than this run, those with other limits included. */
  add<Value>(limit: number, task: () => Promise<Value>): QueuedTask<Value> {
    const { promise: started, resolve: start } = Promise.withResolvers<void>();
    this.#waiting.push({ limit, start });
    this.#startTasks();
    const ended = started.then(task).finally(() => {
      this.#running--;
      this.#startTasks();
    });
    return { started, ended };
  }

  #startTasks(): void {
    for (let [next] = this.#waiting; next !== undefined && this.#running < next.limit; [next] = this.#waiting) {
      this.#running++;
      this.#waiting.shift();
      next.start();
    }
  }
}
