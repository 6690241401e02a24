import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { describeUserAgent, keptUserAgent } from '../../../src/model/users/user-agent.ts'

describe('keptUserAgent', () => {
  const cases: readonly { name: string; header: string | undefined; want: string | undefined }[] = [
    { name: 'keeps a typical header', header: 'Mozilla/5.0 (X11) Gecko', want: 'Mozilla/5.0 (X11) Gecko' },
    { name: 'drops an absent header', header: undefined, want: undefined },
    { name: 'drops a blank header', header: '  \t ', want: undefined },
    { name: 'replaces control characters', header: 'a\u0000b\r\nc\u001b[31m', want: 'a b c [31m' },
    { name: 'replaces non-ASCII characters', header: 'a\u202eé b', want: 'a  b' },
    { name: 'truncates to 256 characters', header: 'x'.repeat(5000), want: 'x'.repeat(256) },
  ]
  for (const { name, header, want } of cases) it(name, () => assert.equal(keptUserAgent(header), want))
})

/** The English texts around the names. */
const WORDS = {
  unknown: 'Unknown browser',
  some: 'A browser',
  on: (browser: string, system: string) => `${browser} on ${system}`,
}

describe('describeUserAgent', () => {
  const WINDOWS = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)'
  const CHROME = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0'
  const IPHONE = 'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)'
  const cases: readonly (readonly [text: string | undefined, want: string])[] = [
    [`${WINDOWS} ${CHROME} Safari/537.36`, 'Chrome on Windows'],
    [`${WINDOWS} ${CHROME} Safari/537.36 Edg/140.0`, 'Edge on Windows'],
    [`${WINDOWS} ${CHROME} Safari/537.36 OPR/120.0`, 'Opera on Windows'],
    [
      `Mozilla/5.0 (Linux; Android 15) ${CHROME} SamsungBrowser/28.0 Mobile Safari/537.36`,
      'Samsung Internet on Android',
    ],
    [`Mozilla/5.0 (X11; CrOS x86_64) ${CHROME} Safari/537.36`, 'Chrome on ChromeOS'],
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Linux'],
    [
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/19.0 Safari/605.1.15',
      'Safari on macOS',
    ],
    [`${IPHONE} Version/19.0 Mobile/15E148 Safari/604.1`, 'Safari on iPhone'],
    [`${IPHONE} CriOS/140.0 Mobile/15E148 Safari/604.1`, 'Chrome on iPhone'],
    [`${IPHONE} FxiOS/140.0 Mobile/15E148 Safari/604.1`, 'Firefox on iPhone'],
    ['Mozilla/5.0 (iPad; CPU OS 19_0 like Mac OS X) Version/19.0 Safari/604.1', 'Safari on iPad'],
    ['Something (Windows NT 10.0)', 'A browser on Windows'],
    ['Firefox/140.0', 'Firefox'],
    ['curl/8.5.0', 'Unknown browser'],
    ['Chromed/1 Windowsill', 'Unknown browser'],
    ['<b>Firefox</b>', 'Unknown browser'],
    ['', 'Unknown browser'],
    [undefined, 'Unknown browser'],
  ]
  for (const [text, want] of cases) {
    it(`returns ${want} for ${JSON.stringify(text)}`, () => assert.equal(describeUserAgent(text, WORDS), want))
  }
})
