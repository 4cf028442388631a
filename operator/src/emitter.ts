/** How a stage hands values to the stages after it: by a direct call of each listener. */
export interface Output<Value> {
  /** Listeners are called in the order in which they subscribed. */
  subscribe(listener: (value: Value) => void): void;
}

export interface Emitter<Value> extends Output<Value> {
  emit(value: Value): void;
}

export function createEmitter<Value>(): Emitter<Value> {
  const listeners: ((value: Value) => void)[] = [];
  return {
    subscribe: (listener) => void listeners.push(listener),
    emit(value) {
      for (const listener of listeners) listener(value);
    },
  };
}
