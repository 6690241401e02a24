/** A map of at most `max` entries, 1 or more: a further one displaces the one that was set the longest ago. */
export class LatestMap<V> extends Map<string, V> {
  readonly #max: number

  constructor(max: number) {
    super()
    this.#max = max
  }

  override set(key: string, value: V): this {
    this.delete(key) // it becomes the last one
    // Only when it is full: the first key is found by passing all that were deleted before it.
    const [oldest] = this.size >= this.#max ? this.keys() : []
    if (oldest !== undefined) this.delete(oldest)
    return super.set(key, value)
  }
}
