import type { Branding } from '../../model/zones/zone.ts'

/** The banner's colours in `assets/latchkey.css`, for a zone that sets only one of the pair. */
const DEFAULT_BACKGROUND = '#123f34'
/** WCAG 2.2, 1.4.3. */
const MIN_CONTRAST = 4.5

/**
 * The zone's own colours as a stylesheet, to be served with the common one since pages carry no style attributes;
 * undefined when the zone has none. Only `#rgb` and `#rrggbb` count, and a text colour that cannot be read on its
 * background gives way to black or white.
 */
export function zoneStylesheet(branding: Branding): string | undefined {
  const background = hexColour(branding.banner?.backgroundColor)
  const wanted = hexColour(branding.banner?.textColor)
  if (background === undefined && wanted === undefined) return undefined
  const behind = background ?? DEFAULT_BACKGROUND
  const text = wanted !== undefined && contrast(wanted, behind) >= MIN_CONTRAST ? wanted : readableOn(behind)
  return `:root {\n  --banner-background: ${behind};\n  --banner-text: ${text};\n}\n`
}

/** `#` and six lower-case hexadecimal digits; undefined for anything but a colour. */
function hexColour(value: string | undefined): string | undefined {
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(value?.trim() ?? '')?.[1]?.toLowerCase()
  if (digits === undefined) return undefined
  return digits.length === 6 ? `#${digits}` : `#${digits.replace(/./g, '$&$&')}`
}

const readableOn = (background: string): string =>
  contrast('#ffffff', background) >= contrast('#000000', background) ? '#ffffff' : '#000000'

/** The contrast ratio of two colours, 1 to 21 (WCAG 2.2, definition). */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const channel = (start: number): number => {
    const value = Number.parseInt(colour.slice(start, start + 2), 16) / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5)
}
