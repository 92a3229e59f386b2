/** Pure: a map of bounded size that forgets the value that was set longest ago. */
export class RecentMap<Value> {
  readonly #values = new Map<string, Value>()
  readonly #sizeMax: number
  readonly #sizeOf: (value: Value, key: string) => number
  #size = 0

  /** Every value counts as one unless `sizeOf` gives its size. */
  constructor(sizeMax: number, sizeOf: (value: Value, key: string) => number = () => 1) {
    this.#sizeMax = sizeMax
    this.#sizeOf = sizeOf
  }

  get size(): number {
    return this.#size
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    this.delete(key)
    this.#values.set(key, value)
    this.#size += this.#sizeOf(value, key)
    // The search for the oldest value is not free: values that were set again leave holes before
    // it.
    if (this.#size <= this.#sizeMax) return
    for (const oldest of this.#values.keys()) {
      this.delete(oldest)
      if (this.#size <= this.#sizeMax) return
    }
  }

  delete(key: string): void {
    const value = this.#values.get(key)
    if (value === undefined) return
    this.#values.delete(key)
    this.#size -= this.#sizeOf(value, key)
  }

  clear(): void {
    this.#values.clear()
    this.#size = 0
  }
}
