// Every state of every page in a real browser, under a strict content security policy.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { LANGUAGES } from '../../src/model/language.ts'
import type { Language } from '../../src/model/language.ts'
import { withoutComments } from '../../src/web/assets.ts'
import { accountMail } from '../../src/pages/mails/account.ts'
import { zoneStylesheet } from '../../src/pages/parts/zone-stylesheet.ts'
import { textsIn } from '../../src/pages/texts/texts.ts'
import { waitUntilTrue, launchBrowser } from '../support/browser.ts'
import { thinned } from '../support/thinning.ts'
import { states, statesIn } from './states.ts'

const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'"
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

const STYLES = readFileSync('assets/latchkey.css', 'utf8')
const files = new Map<string, { readonly type: string; readonly content: Buffer | string }>([
  ['/assets/latchkey.css', { type: 'text/css', content: withoutComments(STYLES) }],
  ['/assets/as-written.css', { type: 'text/css', content: STYLES }],
  ['/assets/factors.css', { type: 'text/css', content: withoutComments(readFileSync('assets/factors.css', 'utf8')) }],
  ['/assets/icon.svg', { type: 'image/svg+xml', content: readFileSync('assets/icon.svg') }],
  ['/assets/latchkey.js', { type: 'text/javascript', content: readFileSync('assets/latchkey.js') }],
  ['/assets/passkeys.js', { type: 'text/javascript', content: readFileSync('assets/passkeys.js') }],
  ['/zone.css', { type: 'text/css', content: zoneStylesheet({ banner: { backgroundColor: '#ffd54a' } }) ?? '' }],
  [
    '/axe.js',
    { type: 'text/javascript', content: readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js')) },
  ],
  ...LANGUAGES.flatMap(language =>
    Object.entries(statesIn(language)).map(
      ([name, page]) =>
        [`/${language}/${name}`, { type: 'text/html; charset=utf-8', content: page.toString() }] as const,
    ),
  ),
])

const server = createServer((request, response) => {
  const file = files.get(request.url ?? '')
  if (!file) return response.writeHead(404).end()
  // The browser compiles cached scripts only once.
  const caching = file.type.startsWith('text/html') ? {} : { 'cache-control': 'max-age=3600' }
  const headers = { 'content-type': file.type, 'content-security-policy': POLICY, ...caching }
  return response.writeHead(200, headers).end(file.content)
})

let browser: Browser
let base: string

before(async () => {
  browser = await launchBrowser()
  await new Promise<void>(resolve => {
    server.listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  assert.ok(typeof address === 'object' && address)
  base = `http://127.0.0.1:${address.port}`
})

after(async () => {
  await browser.close()
  server.closeAllConnections()
  server.close()
})

/** Opens a page in its own context and collects console messages, errors, dialogs and foreign requests. */
async function open(options: BrowserContextOptions): Promise<{ page: Page; problems: string[] }> {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const problems: string[] = []
  page.on('console', message => problems.push(message.text()))
  page.on('pageerror', error => problems.push(error.message))
  page.on('dialog', dialog => {
    problems.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', request => {
    if (!request.url().startsWith(base) && !request.url().startsWith('data:')) problems.push(request.url())
  })
  return { page, problems }
}

const phone = { width: 320, height: 640 }
const desktop = { width: 1280, height: 800 }
interface Look {
  readonly name: string
  readonly options: BrowserContextOptions
  readonly language?: Language
}
// Colours do not depend on the width: of the first four, a fast run takes two that cover both widths and both schemes.
const looks: readonly Look[] = [
  ...thinned<Look>(
    [
      { name: 'on a phone, light', options: { viewport: phone, colorScheme: 'light' } },
      { name: 'on a phone, dark', options: { viewport: phone, colorScheme: 'dark' } },
      { name: 'on a desktop, light', options: { viewport: desktop, colorScheme: 'light' } },
      { name: 'on a desktop, dark', options: { viewport: desktop, colorScheme: 'dark' } },
    ],
    3,
  ),
  // The language with the longest words, and one without spaces between words.
  { name: 'on a phone, in German', options: { viewport: phone, locale: 'de' }, language: 'de' },
  { name: 'on a phone, in Japanese', options: { viewport: phone, locale: 'ja' }, language: 'ja' },
]

// The expressions below run in the browser, so they are not type-checked.
const VIOLATIONS = `axe.run(document, {
  runOnly: { type: 'tag', values: ${JSON.stringify(AXE_TAGS)} }, resultTypes: ['violations'],
}).then(result => result.violations.flatMap(({ id, nodes }) =>
  nodes.map(node => id + ': ' + node.target.join(' ') + ': ' + node.failureSummary)))`
const HAS_PASSKEY = "document.querySelector('[data-passkey]') !== null"
const SCRIPTS = '[...document.scripts].map(script => script.src)'
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
/** Links, buttons and inputs (checkboxes with their label) that are less than 44 pixels high or wide. */
const SMALL_TARGETS = `[...document.querySelectorAll('a:not(.skip), button, input:not([type=hidden], [hidden])')]
  .filter(element => element.checkVisibility())
  .map(element => element.type === 'checkbox' ? element.labels[0] : element)
  .map(element => ({ text: element.outerHTML, box: element.getBoundingClientRect() }))
  .filter(({ box }) => box.height < 44 || box.width < 44)
  .map(({ text, box }) => box.width + ' x ' + box.height + ': ' + text)`
/** Buttons with clipped text: an `input` does not grow with its text. */
const CLIPPED = `[...document.querySelectorAll('.button, .quiet')]
  .filter(element => element.checkVisibility() && element.scrollWidth > element.clientWidth)
  .map(element => element.outerHTML)`
/** Words in these elements that are broken across lines other than at a soft hyphen. */
const brokenWordsIn = (elements: string): string => `[...document.querySelectorAll('${elements}')].flatMap(element => {
  if (!element.checkVisibility()) return []
  const broken = []
  const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT)
  while (texts.nextNode()) {
    const { data } = texts.currentNode
    for (const { 0: word, index } of data.matchAll(/[\\p{Script=Latin}\u00ad]+/gu)) {
      const range = document.createRange()
      range.setStart(texts.currentNode, index)
      range.setEnd(texts.currentNode, index + word.length)
      const lines = new Set([...range.getClientRects()].map(({ top }) => top))
      if (lines.size > word.split('\u00ad').length) broken.push(word) // a soft hyphen may break it
    }
  }
  return broken
})`

const BROKEN_WORDS = brokenWordsIn('.button, .quiet, h1, h2')
/** Also labels without user-chosen names. */
const BROKEN_PLAIN_WORDS = brokenWordsIn(
  ['.button', '.quiet', '.aside', '.field label', '.tile bdi', 'dt']
    .concat(['h1', 'h2'].map(each => `${each}:not(:has(bdi))`))
    .join(),
)

const LAYOUT = `({ hasPasskey: ${HAS_PASSKEY}, scripts: ${SCRIPTS}, overflow: ${OVERFLOW}, smallTargets: ${SMALL_TARGETS},
  clipped: ${CLIPPED}, brokenWords: ${BROKEN_WORDS} })`

describe('Page in a browser', () => {
  for (const [place, { name: look, options, language = 'en' }] of looks.entries()) {
    describe(look, () => {
      let page: Page
      let problems: string[]
      before(async () => {
        ;({ page, problems } = await open(options))
      })
      after(() => page.context().close())

      const names = Object.keys(states)
      // axe takes most of the time, and its results do not depend on the language: a fast run checks each state in one
      // theme. Other languages change only the layout.
      const ruled = new Set(language === 'en' ? thinned(names, 2, place) : thinned(names, 10))
      // A fast run checks each state in one of the two English looks, and on a phone in German or Japanese.
      for (const name of thinned(names, 2, place)) {
        it(`meets WCAG 2.2 AA, fits the width and obeys the content security policy: ${name}`, async () => {
          problems.length = 0
          // Otherwise a URL that differs only in its fragment would not reload the page.
          if (name.includes('#')) await page.goto('about:blank')
          await page.goto(`${base}/${language}/${name}`)
          assert.deepEqual(problems, [])
          const found = await page.evaluate<Readonly<Record<string, unknown>>>(LAYOUT) // one way there and back
          const scripts = found['hasPasskey'] ? ['latchkey', 'passkeys'] : ['latchkey']
          assert.deepEqual(found, {
            hasPasskey: found['hasPasskey'],
            scripts: scripts.map(each => `${base}/assets/${each}.js`),
            overflow: 0,
            smallTargets: [],
            clipped: [],
            brokenWords: name.includes('-long') ? found['brokenWords'] : [],
          })
          if (!ruled.has(name)) return
          await page.addScriptTag({ url: '/axe.js' })
          assert.deepEqual(await page.evaluate(VIOLATIONS), [])
        })
      }
    })
  }

  it('breaks no word in its name and labels at double text size', async () => {
    const { page } = await open({ viewport: { width: 360, height: 640 } })
    const lines = (selector: string) =>
      page.evaluate<readonly (readonly [string, number])[]>(`[...document.querySelectorAll('${selector}')].map(each => {
        const range = document.createRange()
        range.selectNodeContents(each)
        return [each.textContent, new Set([...range.getClientRects()].map(({ top }) => top)).size]
      })`)
    for (const name of ['approval', 'reference-approval', 'login-client', 'account-chooser-failed']) {
      await page.goto(`${base}/en/${name}`)
      await page.evaluate("document.documentElement.style.fontSize = '200%'")
      for (const [text, count] of await lines('.brand bdi, .field label, .account > :last-child')) {
        assert.ok(count <= text.split(' ').length, `${name}: ${text} takes ${count} lines`)
      }
    }
    await page.context().close()
  })

  it('fits a phone and breaks no word at double text size', async () => {
    const { page } = await open({ viewport: phone })
    for (const name of thinned(Object.keys(states), 3)) {
      await page.goto(`${base}/en/${name}`)
      await page.evaluate("document.documentElement.style.fontSize = '200%'")
      assert.equal(await page.evaluate(OVERFLOW), 0, name)
      if (!name.includes('-long')) assert.deepEqual(await page.evaluate(BROKEN_PLAIN_WORDS), [], name)
    }
    await page.context().close()
  })

  it('wraps the time of the last sign-in, never its label', async () => {
    for (const language of LANGUAGES) {
      const { page } = await open({ viewport: phone, locale: language })
      await page.goto(`${base}/${language}/home`)
      const tops = await page.evaluate<readonly number[]>(`(() => {
        const line = document.querySelector('#last_login_time')
        const label = document.createRange()
        label.selectNodeContents(line.firstChild)
        return [...new Set([...label.getClientRects()].map(({ top }) => Math.round(top)))]
      })()`)
      assert.equal(tops.length, 1, language)
      await page.context().close()
    }
  })

  it('wraps the badge of a device, never the name for it', async () => {
    for (const language of LANGUAGES) {
      const { page } = await open({ viewport: phone, locale: language })
      await page.goto(`${base}/${language}/profile`)
      const lines = await page.evaluate<readonly number[]>(`(() => {
        const names = [...document.querySelectorAll('.devices h3:has(.badge) bdi')]
        return names.map(name => new Set([...name.getClientRects()].map(({ top }) => Math.round(top))).size)
      })()`)
      assert.deepEqual(lines, [1], language)
      await page.context().close()
    }
  })

  it('hyphenates words only at large text size on a phone', async () => {
    const { page } = await open({ viewport: phone, locale: 'de' })
    await page.goto(`${base}/de/profile`)
    const hyphens = (): Promise<string> => page.evaluate('getComputedStyle(document.querySelector("h1")).hyphens')
    assert.equal(await hyphens(), 'manual')
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    assert.equal(await hyphens(), 'auto')
    await page.context().close()
  })

  it('fails the checks above with defects', async () => {
    const { page, problems } = await open({ viewport: phone })
    await page.goto(`${base}/en/login-failed`)
    await page.addScriptTag({ url: '/axe.js' })
    await page.evaluate(`{
      document.querySelector('label[for=username]').remove()
      document.querySelector('.alert p').style.color = '#f0c0bb'
      document.querySelector('h1').style.width = '400px'
      document.querySelector('a.aside').style.minHeight = '0'
      document.querySelector('input.button').style.cssText = 'width: 2rem; white-space: nowrap'
    }`)
    const violations = await page.evaluate<readonly string[]>(VIOLATIONS)
    const rules = new Set(violations.map(violation => violation.split(':')[0]))
    assert.deepEqual(rules, new Set(['color-contrast', 'label']))
    assert.equal(await page.evaluate(OVERFLOW), 100)
    assert.equal((await page.evaluate<readonly string[]>(SMALL_TARGETS)).length, 2)
    assert.equal((await page.evaluate<readonly string[]>(CLIPPED)).length, 1)
    await page.evaluate(`document.querySelector('h1').style.width = '2rem'`)
    assert.deepEqual(await page.evaluate(BROKEN_WORDS), ['Sign'])
    await page.evaluate(`document.body.insertAdjacentHTML('beforeend', '<img src=x onerror="alert(1)">')`)
    await waitUntilTrue(page, 'document.images.length > 1 && [...document.images].every(image => image.complete)')
    assert.ok(problems.some(problem => problem.includes('Content Security Policy')))
    await page.context().close()
  })

  it('has a logical tab order', async () => {
    const { page } = await open({ viewport: desktop })
    await page.goto(`${base}/en/login-providers`)
    await waitUntilTrue(page, 'document.activeElement !== document.body') // the browser focuses after rendering
    const visited: unknown[] = []
    for (let step = 0; step < 8; step++) {
      visited.push(
        await page.evaluate(
          'document.activeElement.name || document.activeElement.value || document.activeElement.text || document.activeElement.ariaLabel',
        ),
      )
      await page.keyboard.press('Tab')
    }
    assert.deepEqual(visited, [
      'username',
      'password',
      'Show what you type',
      'Reset password',
      'Sign in',
      'Company directory',
      'Harbour Single Sign-On',
      'Create account',
    ])
    await page.context().close()
  })

  it('shows and hides a password, and announces it in every language', async () => {
    const { page } = await open({ viewport: phone })
    for (const language of LANGUAGES) {
      const { show, shown, concealed } = textsIn(language).form
      await page.goto(`${base}/${language}/login`)
      await page.fill('#password', 'koala')
      const button = page.getByRole('button', { name: show, exact: true })
      const reported = (): Promise<unknown[]> =>
        Promise.all([
          page.getAttribute('#password', 'type'),
          button.getAttribute('aria-pressed'),
          page.innerText('.field [role=status]'),
        ])
      assert.deepEqual(await reported(), ['password', 'false', ''])
      await button.press('Space')
      assert.deepEqual(await reported(), ['text', 'true', shown])
      assert.equal(await page.inputValue('#password'), 'koala')
      await button.click()
      assert.deepEqual(await reported(), ['password', 'false', concealed])
      await button.click()
      await page.evaluate(`addEventListener('submit', event => event.preventDefault())`)
      await page.press('#password', 'Enter')
      assert.equal(
        await page.getAttribute('#password', 'type'),
        'password',
        'hidden on submit, so browsers do not remember it as text',
      )
    }
    await page.context().close()
  })

  it('hides the show-password button without scripts', async () => {
    const { page } = await open({ viewport: phone, javaScriptEnabled: false })
    await page.goto(`${base}/en/login`)
    assert.equal(await page.isVisible('.reveal'), false)
    await page.context().close()
  })

  it('submits a form once on a double click', async () => {
    const { page } = await open({ viewport: phone })
    await page.goto(`${base}/en/approval`)
    const sentAt = (time: number): string => `(() => {
      const event = new Event('submit', { cancelable: true })
      Object.defineProperty(event, 'timeStamp', { value: ${time} })
      return document.querySelector('main form').dispatchEvent(event)
    })()`
    const sent: boolean[] = []
    for (const time of [60_000, 60_300, 60_900, 63_100]) sent.push(await page.evaluate(sentAt(time)))
    assert.deepEqual(sent, [true, false, false, true])
    await page.context().close()
  })

  it('shows times in the local time zone, and in UTC without scripts', async () => {
    const looks = [
      { options: { timezoneId: 'Asia/Tokyo' }, want: 'January 2, 2026 at 12:04 PM' },
      { options: { javaScriptEnabled: false }, want: 'January 2, 2026 at 3:04 AM Coordinated Universal Time' },
    ]
    for (const { options, want } of looks) {
      const { page } = await open(options)
      await page.goto(`${base}/en/approval`)
      assert.equal(await page.innerText('#last_login_time time'), want)
      await page.context().close()
    }
  })

  it('prints recovery codes with the name of the account, and no buttons', async () => {
    const { page } = await open({ viewport: phone })
    await page.goto(`${base}/en/recovery-codes`)
    await page.emulateMedia({ media: 'print' })
    for (const shown of ['#codes', '.person .name']) assert.ok(await page.isVisible(shown), shown)
    assert.equal(
      await page.evaluate("[...document.querySelectorAll('.button, button')].some(each => each.checkVisibility())"),
      false,
    )
    await page.context().close()
  })

  it('tells beside how long ago something was when that was', async () => {
    const { page } = await open({ timezoneId: 'Asia/Tokyo' })
    await page.goto(`${base}/en/profile`)
    const [time] = await page.locator('.events time').all()
    assert.equal(await time?.innerText(), '2 hours ago')
    assert.equal(await time?.getAttribute('title'), 'March 2, 2026 at 6:40 PM')
    await page.context().close()
  })

  it('fits a phone without scripts, with UTC times', async () => {
    const { page } = await open({ viewport: phone, javaScriptEnabled: false })
    for (const language of LANGUAGES) {
      await page.goto(`${base}/${language}/home`)
      assert.equal(await page.evaluate(OVERFLOW), 0, language)
    }
    await page.context().close()
  })

  it('shows mails within the width of a phone, even with a long address', async () => {
    const { page } = await open({ viewport: phone })
    const email = `${'some'.repeat(12)}@department.organisation.example`
    for (const name of ['resetPassword', 'emailChanged'] as const) {
      const frame = { texts: textsIn('de'), site: 'Donaudampfschifffahrtsgesellschaft' }
      const mail = accountMail(frame, name, { email, former: email, url: `https://id.example/?code=${'A'.repeat(32)}` })
      await page.setContent(mail.html)
      assert.equal(await page.evaluate(OVERFLOW), 0, name)
    }
    await page.context().close()
  })

  it('supports right-to-left languages', async () => {
    const { page } = await open({ viewport: phone })
    for (const name of Object.keys(states).filter(each => each.startsWith('rtl-'))) {
      await page.goto(`${base}/en/${name}`)
      assert.equal(await page.evaluate('getComputedStyle(document.querySelector("main")).direction'), 'rtl')
      assert.equal(await page.evaluate(OVERFLOW), 0)
    }
    await page.context().close()
  })

  it('aligns header and content', async () => {
    for (const width of [320, 768, 1440, 1920]) {
      const { page } = await open({ viewport: { width, height: 800 } })
      await page.goto(`${base}/en/home`)
      const edges = await page.evaluate<readonly number[]>(`(() => {
        const box = selector => document.querySelector(selector).getBoundingClientRect()
        const mark = box('.brand .mark')
        return [mark.left + mark.width / 10 - box('h1').left, box('.person button').right - box('.tiles').right]
      })()`)
      assert.deepEqual(edges, [0, 0], String(width)) // the door is inset by a tenth of the icon
      await page.goto(`${base}/en/outbox`)
      const outbox = await page.evaluate<readonly number[]>(`(() => {
        const box = selector => document.querySelector(selector).getBoundingClientRect()
        const mark = box('.brand .mark')
        return [mark.left + mark.width / 10 - box('h1').left, box('.panel').left - box('h1').left]
      })()`)
      assert.deepEqual(outbox, [0, 0], String(width))
      await page.context().close()
    }
  })

  it('prints dark text in the dark scheme, too', async () => {
    const { page } = await open({ viewport: desktop, colorScheme: 'dark' })
    await page.goto(`${base}/en/recovery-codes`)
    const colourOf = (): Promise<string> => page.evaluate('getComputedStyle(document.querySelector("h1")).color')
    assert.equal(await colourOf(), 'rgb(232, 238, 235)')
    await page.emulateMedia({ media: 'print' })
    assert.equal(await colourOf(), 'rgb(20, 32, 27)')
    await page.context().close()
  })

  it('keeps a long user name beside the brand, and sign-out at the edge', async () => {
    for (const width of [768, 1280]) {
      const { page } = await open({ viewport: { width, height: 800 } })
      await page.goto(`${base}/en/home`)
      const placed = await page.evaluate<readonly boolean[]>(`(() => {
        const box = selector => document.querySelector(selector).getBoundingClientRect()
        const places = () => [box('.person button').top < box('.brand').bottom, box('.person button').right === box('.tiles').right]
        document.querySelector('.person .name').textContent = 'a-long-user-name.'.repeat(12)
        const beside = places()
        document.querySelector('.brand bdi').textContent = 'a long name of a site '.repeat(4)
        return [...beside, ...places()]
      })()`)
      assert.deepEqual(placed, [true, true, false, true], String(width))
      await page.context().close()
    }
  })

  it('has all rules of the stylesheet after its comments are removed', async () => {
    const { page } = await open({ viewport: desktop })
    await page.goto(`${base}/en/login`)
    await page.evaluate(`new Promise(resolve => {
      const link = Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '/assets/as-written.css', onload: resolve })
      document.head.append(link)
    })`)
    const [served, written] = await page.evaluate<readonly string[]>(`['latchkey', 'as-written'].map(name =>
      [...[...document.styleSheets].find(sheet => sheet.href.includes(name)).cssRules].map(rule => rule.cssText).join().replace(/\\s+/g, ' '))`)
    assert.ok(served && served.length > 10_000)
    assert.equal(served, written)
    await page.context().close()
  })

  it('shows the keyboard focus', async () => {
    const { page } = await open({ viewport: desktop })
    await page.goto(`${base}/en/approval`)
    for (let step = 0; step < 8; step++) {
      await page.keyboard.press('Tab')
      assert.match(
        await page.evaluate<string>('getComputedStyle(document.activeElement).outline'),
        /solid [23]px/,
        `after ${step + 1} steps`,
      )
    }
    await page.context().close()
  })

  it('has a skip link', async () => {
    const { page } = await open({ viewport: desktop })
    await page.goto(`${base}/en/approval`)
    await page.keyboard.press('Tab')
    assert.equal(await page.evaluate('document.activeElement.className'), 'skip')
    assert.equal((await page.locator('.skip').boundingBox())?.height, 44)
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate('document.activeElement.id'), 'main')
    await page.context().close()
  })

  const motions = [
    { name: 'has no transitions with prefers-reduced-motion', reducedMotion: 'reduce' },
    { name: 'has transitions otherwise', reducedMotion: 'no-preference' },
  ] as const
  for (const { name, reducedMotion } of motions) {
    it(name, async () => {
      const { page } = await open({ viewport: desktop, reducedMotion })
      await page.goto(`${base}/en/login`)
      const duration = await page.evaluate<string>(
        `getComputedStyle(document.querySelector('.button')).transitionDuration`,
      )
      assert.equal(duration.startsWith('0s'), reducedMotion === 'reduce')
      await page.context().close()
    })
  }
})
