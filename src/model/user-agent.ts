// What a browser calls itself, kept in a short form and read back in plain words: enough to tell one's own devices apart,
// too little to tell people apart.

const MAX_USER_AGENT_LENGTH = 256

/** The `User-Agent` header as it is kept: visible ASCII, 256 characters at most; undefined when nothing is left of it. */
export function keptUserAgent(header: string | undefined): string | undefined {
  const text = header
    ?.replace(/[^\x20-\x7e]+/g, ' ')
    .slice(0, MAX_USER_AGENT_LENGTH)
    .trim()
  return text === '' ? undefined : text
}

// Most browsers call themselves by the names of those before them as well: the first that fits counts.
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

/** The words round the names, which are the same everywhere. */
export interface UserAgentWords {
  readonly unknown: string
  /** Stands for a browser whose name is not known. */
  readonly some: string
  readonly on: (browser: string, system: string) => string
}

/** Browser and system in words, such as `Firefox on Windows`; what is not known is not guessed. */
export function describeUserAgent(text: string | undefined, words: UserAgentWords): string {
  const browser = text === undefined ? undefined : nameIn(BROWSERS, text)
  const system = text === undefined ? undefined : nameIn(SYSTEMS, text)
  if (browser === undefined && system === undefined) return words.unknown
  return system === undefined ? `${browser}` : words.on(browser ?? words.some, system)
}
