import { html } from '../../base/html.ts'
import type { Html } from '../../base/html.ts'

/** A QR code as SVG, one path for all dark squares; on white in every theme, because readers look for dark on light. */
export function qrCode(rows: readonly (readonly boolean[])[], alternative: string): Html {
  const path = rows.map((row, y) =>
    runsOf(row)
      .map(({ from, length }) => `M${from} ${y}h${length}v1h-${length}z`)
      .join(''),
  )
  return html`<svg class="qr" viewBox="0 0 ${rows.length} ${rows.length}" role="img" aria-label="${alternative}" shape-rendering="crispEdges"><path d="${path.join('')}"/></svg>\n`
}

/** Adjacent dark squares. */
function runsOf(row: readonly boolean[]): readonly { readonly from: number; readonly length: number }[] {
  return row.flatMap((isDark, from) => {
    if (!isDark || row[from - 1] === true) return []
    const end = row.indexOf(false, from)
    return [{ from, length: (end < 0 ? row.length : end) - from }]
  })
}
