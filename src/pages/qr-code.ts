import { type Html, html } from '../base/html.ts'

/** A QR code as SVG, one path for all dark squares; on white in every theme, because readers look for dark on light. */
export function qrCode(rows: readonly (readonly boolean[])[], alternative: string): Html {
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return html`<svg class="qr" viewBox="0 0 ${rows.length} ${rows.length}" role="img" aria-label="${alternative}" shape-rendering="crispEdges"><path d="${path}"/></svg>\n`
}
