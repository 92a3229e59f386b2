/**
 * Returns a function that calls `make` once and keeps its result. Calls until then share one
 * promise, and a failure is not kept. A kept result is returned without a promise, so that its
 * caller can answer in the same turn of the event loop.
 */
export function keepResult<Value extends object>(
  make: () => Promise<Value>,
): () => Value | Promise<Value> {
  let result: Value | Promise<Value> | undefined
  return () =>
    (result ??= make().then(
      (value) => (result = value),
      (error) => {
        result = undefined
        throw error
      },
    ))
}
