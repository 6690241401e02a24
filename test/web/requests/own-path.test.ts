import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isOwnUrl, ownPath } from '../../../src/web/requests/own-path.ts'

const base = 'http://id.example'
const root = [base, `${base}/z/default`]
const x = [`${base}/z/x`, 'http://x.id.example']

describe('`ownPath`', () => {
  const cases: readonly { bases: readonly string[]; text: string; want: string | undefined }[] = [
    { bases: root, text: `${base}/home?a=1`, want: '/home?a=1' },
    { bases: root, text: `${base}/z/default/home`, want: '/home' },
    { bases: root, text: `${base}/zone.css`, want: '/zone.css' },
    { bases: root, text: `${base}/z/x/home`, want: undefined },
    { bases: root, text: `${base}/z`, want: undefined },
    { bases: root, text: `${base}/z?a`, want: undefined },
    { bases: root, text: `${base}/%7Ax/home`, want: '/%7Ax/home' },
    { bases: root, text: `${base}/%7a/x/home`, want: undefined },
    { bases: root, text: `${base}/z%2fx/home`, want: undefined },
    { bases: root, text: `${base}/a/../z/x/home`, want: undefined },
    { bases: root, text: `${base}/%2e/z/x/home`, want: undefined },
    { bases: root, text: `${base}//z/x/home`, want: undefined },
    { bases: root, text: `${base}/z/default/../x/home`, want: undefined },
    { bases: root, text: `${base}/z/default/z/x/home`, want: undefined },
    { bases: root, text: `${base}/logout.do`, want: undefined },
    { bases: root, text: `${base}/logout.do/?redirect=x#y`, want: undefined },
    { bases: root, text: `${base}/a/../logout.do`, want: undefined },
    { bases: root, text: `${base}/%6cogout%2Edo`, want: undefined },
    { bases: root, text: `${base}/%zz`, want: '/%zz' },
    { bases: root, text: `${base}/home?then=/logout.do`, want: '/home?then=/logout.do' },
    { bases: x, text: `${base}/z/x/logout.do`, want: undefined },
    { bases: x, text: `${base}/z/x/home`, want: '/home' },
    { bases: x, text: 'http://x.id.example/home', want: '/home' },
    { bases: x, text: `${base}/z/x`, want: undefined },
    { bases: x, text: `${base}/home`, want: undefined },
    { bases: x, text: `${base}/z/y/home`, want: undefined },
    { bases: x, text: `${base}/z/xy/home`, want: undefined },
    { bases: x, text: `${base}/z/x/../y/home`, want: undefined },
    { bases: x, text: `${base}/z/x/z/y/home`, want: undefined },
    { bases: x, text: `${base}/z/x//evil.example`, want: undefined },
  ]
  for (const { bases, text, want } of cases) {
    it(`returns ${want ?? 'undefined'} for ${text} below ${bases[0]}`, () => assert.equal(ownPath(bases, text), want))
  }
})

describe('`isOwnUrl`', () => {
  for (const [text, bases, want] of [
    [base, root, true],
    [`${base}/login`, root, true],
    [`${base}/z/default/login`, root, true],
    [`${base}/z/x/login`, root, false],
    [`${base}/%7a/x/login`, root, false],
    [`${base}/z/x/login`, x, true],
    [`${base}/z/x`, x, true],
    ['http://x.id.example/login', x, true],
    [`${base}/login`, x, false],
    [`${base}/z/xy`, x, false],
    [`${base}/z/x/z/y`, x, false],
    ['http://user@id.example/z/x/login', x, false],
    ['https://id.example/z/x/login', x, false],
  ] as const) {
    it(`returns ${want} for ${text} below ${bases[0]}`, () => assert.equal(isOwnUrl(bases, new URL(text)), want))
  }
})
