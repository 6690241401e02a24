// Shortens the `User-Agent` header and describes it: enough for users to recognise their devices, too little to track them.

const MAX_USER_AGENT_LENGTH = 256

/** Shortens the `User-Agent` header to 256 printable ASCII characters; undefined if nothing is left. */
export function keptUserAgent(header: string | undefined): string | undefined {
  const text = header
    ?.replace(/[^\x20-\x7e]+/g, ' ')
    .slice(0, MAX_USER_AGENT_LENGTH)
    .trim()
  return text === '' ? undefined : text
}

/** The same from the headers of a request; a header sent twice is ignored. */
export function userAgentIn(headers: Readonly<Record<string, unknown>> = {}): string | undefined {
  const header = headers['user-agent']
  return typeof header === 'string' ? keptUserAgent(header) : undefined
}

// Most browsers include the names of others: the first match counts.
const BROWSERS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\b(?:Edg|EdgA|EdgiOS|Edge)\//, 'Edge'],
  [/\b(?:OPR|OPT|Opera)\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bVivaldi\//, 'Vivaldi'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome|Chromium)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]
const SYSTEMS: readonly (readonly [sign: RegExp, name: string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

const nameIn = (list: typeof BROWSERS, text: string): string | undefined => list.find(([sign]) => sign.test(text))?.[1]

/** The translated words around the names. */
export interface UserAgentTexts {
  readonly unknown: string
  /** For an unknown browser on a known system. */
  readonly some: string
  readonly on: (browser: string, system: string) => string
}

/** Describes browser and system, such as `Firefox on Windows`. */
export function describeUserAgent(text: string | undefined, words: UserAgentTexts): string {
  const browser = text === undefined ? undefined : nameIn(BROWSERS, text)
  const system = text === undefined ? undefined : nameIn(SYSTEMS, text)
  if (browser === undefined && system === undefined) return words.unknown
  return system === undefined ? `${browser}` : words.on(browser ?? words.some, system)
}
