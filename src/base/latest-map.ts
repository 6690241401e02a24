/** A map of at most `max` entries, 1 or more: a further one displaces the one that was set the longest ago. */
export class LatestMap<K, V> extends Map<K, V> {
  readonly #max: number

  constructor(max: number) {
    super()
    this.#max = max
  }

  override set(key: K, value: V): this {
    this.delete(key) // it becomes the last one
    for (const oldest of this.keys()) {
      if (this.size < this.#max) break
      this.delete(oldest)
    }
    return super.set(key, value)
  }
}
