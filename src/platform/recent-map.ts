/** Pure: a map of bounded size that forgets what was set longest ago. */
export class RecentMap<Value> {
  readonly #values = new Map<string, Value>()
  readonly #sizeMax: number

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#values.size
  }

  get(key: string): Value | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Value): void {
    this.#values.delete(key)
    this.#values.set(key, value)
    if (this.#values.size <= this.#sizeMax) return
    const [oldest] = this.#values.keys()
    if (oldest !== undefined) this.#values.delete(oldest)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }
}
