/**
 * The most similar name to a mistyped one: the one with the fewest letters to change, add, remove or swap,
 * ignoring case; at most two, and at most one for every three letters. Absent if none is that similar.
 */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const maxDistance = Math.min(2, Math.floor(typed.length / 3))
  const [best] = names
    .map(name => ({ name, distance: distanceOf(typed.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= maxDistance)
    .toSorted((a, b) => a.distance - b.distance)
  return best?.name
}

/** The Levenshtein distance with transpositions, computed row by row. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column)
  let rowBefore: readonly number[] = []
  for (const [index, letter] of Array.from(from).entries()) {
    const next = [index + 1]
    for (const [column, other] of Array.from(to).entries()) {
      const replaced = (row[column] ?? 0) + (letter === other ? 0 : 1)
      const isExchanged = column > 0 && letter === to[column - 1] && other === from[index - 1]
      const exchanged = isExchanged ? (rowBefore[column - 1] ?? 0) + 1 : Infinity
      next.push(Math.min(replaced, exchanged, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1))
    }
    rowBefore = row
    row = next
  }
  return row.at(-1) ?? 0
}
