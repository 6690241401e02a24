// Items in the order of their last use. Every operation takes the same time, however many items there are: the first element of
// a `Map` or `Set` that was deleted from at its beginning is found by passing all deleted ones.

/** The place of an item in a line. */
export interface Place<T> {
  readonly item: T
  before: Place<T> | undefined
  after: Place<T> | undefined
}

/** Items in the order in which they were appended, removable at any place. */
export class Line<T> {
  #first: Place<T> | undefined
  #last: Place<T> | undefined

  get first(): T | undefined {
    return this.#first?.item
  }

  append(item: T): Place<T> {
    const place: Place<T> = { item, before: undefined, after: undefined }
    this.#link(place)
    return place
  }

  /** Removes what is at the place, which must be in this line. */
  remove({ before, after }: Place<T>): void {
    if (before) before.after = after
    else this.#first = after
    if (after) after.before = before
    else this.#last = before
  }

  /** As `remove` and `append`. */
  toEnd(place: Place<T>): void {
    this.remove(place)
    this.#link(place)
  }

  #link(place: Place<T>): void {
    place.before = this.#last
    place.after = undefined
    if (this.#last) this.#last.after = place
    else this.#first = place
    this.#last = place
  }
}

/** Items by a rank, a small whole number that changes; those of one rank in the order of their last use or change. */
export class Ranking<T> {
  readonly #lines = new Map<number, Line<T>>()
  readonly #places = new Map<T, { readonly rank: number; readonly place: Place<T> }>()
  #highest = 0

  /** Gives the item, which may be new, its rank. */
  set(item: T, rank: number): void {
    const had = this.#places.get(item)
    if (had?.rank === rank) return
    this.delete(item)
    let line = this.#lines.get(rank)
    if (!line) this.#lines.set(rank, (line = new Line()))
    this.#places.set(item, { rank, place: line.append(item) })
    this.#highest = Math.max(this.#highest, rank)
  }

  /** The item counts as used now. */
  touch(item: T): void {
    const had = this.#places.get(item)
    if (had) this.#lines.get(had.rank)?.toEnd(had.place)
  }

  delete(item: T): void {
    const had = this.#places.get(item)
    if (!had) return
    this.#places.delete(item)
    const line = this.#lines.get(had.rank)
    line?.remove(had.place)
    if (line?.first === undefined) this.#lines.delete(had.rank)
  }

  /** Of the items of the highest rank, the one used least recently. */
  top(): T | undefined {
    if (this.#places.size === 0) this.#highest = 0
    // Each step down was a step up in `set`.
    while (this.#highest > 0 && !this.#lines.has(this.#highest)) this.#highest -= 1
    return this.#lines.get(this.#highest)?.first
  }

  clear(): void {
    this.#lines.clear()
    this.#places.clear()
    this.#highest = 0
  }
}
