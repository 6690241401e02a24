// The number of a zone's rows and some of their positions, so that a page far inside is found without counting up to it.
import type { Position } from '../list-query.ts'

/** All rows of a zone. */
export interface Outline {
  readonly total: number
  /** Positions in the listing's `walk`, by number; every page read adds its own, so that the next page starts near one. */
  readonly places: Map<number, Position>
}

const MAX_REMEMBERED_PAGES = 200

/** The last known position up to `before`; the beginning has none. */
export function nearest(
  outline: Outline | undefined,
  before: number,
): { readonly before: number; readonly at?: Position } {
  let found: { before: number; at?: Position } = { before: 0 }
  for (const [place, at] of outline?.places ?? []) {
    if (place <= before && place > found.before) found = { before: place, at }
  }
  return found
}

/** Caches the first and the last position of a page; evicts the oldest. */
export function remember({ places }: Outline, before: number, positions: readonly Position[]): void {
  for (const [index, position] of positions.entries()) {
    if (index !== 0 && index !== positions.length - 1) continue
    places.delete(before + index)
    places.set(before + index, position)
  }
  for (const oldest of places.keys()) {
    if (places.size <= MAX_REMEMBERED_PAGES) return
    places.delete(oldest)
  }
}
