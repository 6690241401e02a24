/** Parses a `login_hint`: the origin of a provider, or other text. Decodes it up to twice; never throws. */
export function parseLoginHint(value: string | undefined): { readonly origin?: string; readonly text?: string } {
  if (value === undefined) return {}
  let text = value
  for (let round = 0; round < 3; round += 1) {
    const origin = originIn(text)
    if (origin !== undefined) return { origin }
    const decoded = decodeOnce(text)
    if (decoded === text) break
    text = decoded
  }
  return { text: value }
}

function originIn(text: string): string | undefined {
  if (!text.startsWith('{')) return undefined
  try {
    const hint: unknown = JSON.parse(text)
    const origin: unknown = typeof hint === 'object' && hint !== null ? Reflect.get(hint, 'origin') : undefined
    return typeof origin === 'string' ? origin : undefined
  } catch {
    return undefined // text that merely begins like JSON is a plain hint
  }
}

function decodeOnce(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text // a literal percent sign
  }
}
