import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser as Chromium, BrowserContextOptions, Page } from 'playwright-core'
import { addSeconds } from '../../src/base/clock.ts'
import { digest } from '../../src/base/secrets.ts'
import { signedIn } from '../support/authorize.ts'
import { waitUntilTrue, launchBrowser } from '../support/browser.ts'
import { unescaped } from '../support/forms.ts'
import { APP, MODES, tokensOf, userNamed } from '../support/oauth.ts'
import type { Browser, TestAnswer, TestServer } from '../support/server.ts'
import { startServer, startListening, defaultBootstrap } from '../support/server.ts'
import type { Site } from '../support/site.ts'
import { startSite } from '../support/site.ts'

const GROUPED = /^(?:[0-9A-HJKMNP-TV-Z]{4}-){4}[0-9A-HJKMNP-TV-Z]{4}$/
const valueIn = (mode: string): RegExp => (mode === 'uaa' ? /^[A-Za-z0-9_-]{32}$/ : GROUPED)
const JSON_ONLY = { accept: 'application/json' }

/** The code on a page, if any. */
const shownOn = (page: string): string | undefined => {
  const text = /<samp id="passcode"[^>]*>((?:<\/?span>|<wbr>|[^<])*)<\/samp>/.exec(page)?.[1]?.replace(/<[^>]*>/g, '')
  return text === undefined ? undefined : unescaped(text)
}

async function fetchCode(browser: Browser): Promise<string> {
  const answer = await browser.send('/passcode', { headers: JSON_ONLY })
  assert.equal(answer.status, 200, answer.text)
  return answer.json<string>()
}

const redeem = (server: TestServer, passcode: string): Promise<TestAnswer> =>
  server.token({ grant_type: 'password', passcode }, { basic: APP })

for (const mode of MODES) {
  describe(`GET /passcode in ${mode}`, () => {
    const VALUE = valueIn(mode)
    let server: TestServer
    before(async () => (server = await startServer({ mode })))
    after(async () => {
      assert.deepEqual(server.faults, [])
      await server.stop()
    })

    // Covers GET /passcode: response: HTML page
    it('shows a code without scripts, with no-store', async () => {
      const answer = await (await signedIn(server)).send('/passcode', { headers: { accept: 'text/html' } })
      assert.equal(answer.status, 200)
      assert.match(String(answer.headers['content-type']), /^text\/html/)
      assert.equal(answer.headers['cache-control'], 'no-cache, no-store, max-age=0, must-revalidate')
      assert.equal(answer.headers['x-frame-options'], 'DENY')
      const heading =
        mode === 'uaa' ? /<h1>Temporary Authentication Code<\/h1>/ : /<h1>Temporary authentication code<\/h1>/
      assert.match(answer.text, heading)
      assert.match(answer.text, /<button [^>]*id="copybutton"[^>]* hidden>/)
      const script = /<script src="(\/resources\/latchkey\.js\?v=[\w-]{16})" defer><\/script>/.exec(answer.text)
      const { text } = await server.send(script?.[1] ?? assert.fail('no script'))
      assert.match(text, /^async function CopyToClipboard\(/m)
      const passcode = shownOn(answer.text) ?? ''
      assert.match(passcode, VALUE)
      tokensOf(await redeem(server, passcode))
    })

    // Covers GET /passcode: response: JSON string
    it('returns a bare JSON string, with no-store', async () => {
      const answer = await (await signedIn(server)).send('/passcode', { headers: JSON_ONLY })
      assert.equal(answer.status, 200)
      assert.match(String(answer.headers['content-type']), /^application\/json/)
      assert.match(String(answer.headers['cache-control']), /no-store/)
      assert.match(answer.json<string>(), VALUE)
      tokensOf(await redeem(server, answer.json<string>()))
    })

    it('returns a new random code each time', async () => {
      const browser = await signedIn(server)
      const codes: string[] = []
      for (let index = 0; index < 50; index += 1) codes.push(await fetchCode(browser))
      assert.equal(new Set(codes).size, 50)
      const characters = mode === 'uaa' ? 64 : 33 // 32 and the separator
      assert.equal(new Set(codes.join('')).size, characters, 'all characters of the alphabet')
      server.clock.advance(60)
    })

    it('ignores case and separators of a code in standard', async () => {
      const retyped = (await fetchCode(await signedIn(server))).toLowerCase().replaceAll('-', ' ')
      const answer = await redeem(server, retyped)
      assert.equal(answer.status, mode === 'uaa' ? 401 : 200)
      assert.equal((await redeem(server, retyped)).status, mode === 'uaa' ? 401 : 400, 'once')
      server.clock.advance(60)
    })

    // Covers GET /passcode: rule: 32 characters, 5 minutes, one use
    it('stores only a digest, for five minutes', async () => {
      const browser = await signedIn(server)
      const passcode = await fetchCode(browser)
      const { id: userId, passwordRevision } = await userNamed(server, 'marissa')
      const codeDigest = digest(mode === 'uaa' ? passcode : passcode.replaceAll('-', ''))
      assert.equal(await server.store.oneTimeCodes.redeem('svc', 'passcode', passcode), undefined)
      const { data, ...kept } = (await server.store.oneTimeCodes.redeem('svc', 'passcode', codeDigest)) ?? {}
      const at = server.clock.now().getTime()
      assert.deepEqual(JSON.parse(data ?? ''), { at, amr: ['pwd'], isRemembered: false })
      assert.deepEqual(kept, {
        zoneId: 'svc',
        purpose: 'passcode',
        userId,
        codeDigest,
        passwordRevision,
        expiresAt: addSeconds(server.clock.now(), 300),
      })
    })

    // Covers GET /passcode: rule: anonymous goes to the login page
    it('redirects anonymous users to sign-in, and back', async () => {
      const browser = server.browser()
      const answer = await browser.send('/passcode?from=cli')
      assert.equal(answer.status, 302)
      assert.equal(answer.headers['location'], 'http://localhost:8080/login')
      assert.equal(shownOn(answer.text), undefined)
      const next = await browser.signIn('marissa', 'koala')
      assert.equal(next.headers['location'], 'http://localhost:8080/passcode?from=cli')
      assert.match(shownOn((await browser.send('/passcode?from=cli')).text) ?? '', VALUE)
    })

    it('refuses JSON callers without a signed-in session', async () => {
      const anonymous = server.browser()
      await anonymous.send('/passcode')
      const out = await signedIn(server)
      await out.send('/logout.do', { form: { 'X-Svc-Csrf': out.csrf } })
      for (const browser of [server.browser(), anonymous, out]) {
        const answer = await browser.send('/passcode', { headers: JSON_ONLY })
        // UAA: redirected to sign-in (row M7).
        if (mode === 'uaa') assert.equal(answer.headers['location'], 'http://localhost:8080/login')
        else assert.deepEqual(answer.json(), { error: 'Full authentication is required to access this resource' })
      }
    })

    it('refuses bearer tokens', async () => {
      const form = { grant_type: 'password', username: 'marissa', password: 'koala' }
      const { access_token: bearer } = tokensOf(await server.token(form, { basic: APP }))
      assert.equal(
        (await server.send('/passcode', { bearer, headers: JSON_ONLY })).status,
        mode === 'standard' ? 403 : 302,
      )
    })

    for (const method of ['HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
      it(`creates no code for ${method}`, async () => {
        const browser = await signedIn(server)
        const passcode = await fetchCode(browser)
        const answer = await browser.send('/passcode', { method, headers: JSON_ONLY })
        assert.ok(answer.status >= 400 || answer.status === 204, String(answer.status))
        assert.doesNotMatch(answer.text, /[A-Za-z0-9_-]{24}/)
        tokensOf(await redeem(server, passcode))
      })
    }

    const foreign: readonly { name: string; headers: Readonly<Record<string, string>> }[] = [
      { name: 'a link of another site', headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' } },
      { name: 'a sibling host', headers: { 'sec-fetch-site': 'same-site' } },
      { name: 'an image on another site', headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' } },
      { name: 'a prefetch', headers: { 'sec-purpose': 'prefetch', 'sec-fetch-site': 'same-origin' } },
      { name: 'a prerender', headers: { 'sec-purpose': 'prefetch;prerender', 'sec-fetch-site': 'none' } },
      { name: 'a prefetch with the old header', headers: { purpose: 'prefetch' } },
      { name: 'an unknown Sec-Fetch-Site', headers: { 'sec-fetch-site': 'elsewhere' } },
    ]
    for (const { name, headers } of foreign) {
      it(`neither creates nor invalidates a code for ${name}`, async () => {
        const browser = await signedIn(server)
        const passcode = await fetchCode(browser)
        const page = await browser.send('/passcode', { headers: { accept: 'text/html', ...headers } })
        assert.equal(page.status, 200)
        assert.equal(shownOn(page.text), undefined)
        assert.match(page.text, /<a class="button" href="\/passcode">Get a code<\/a>/)
        const program = await browser.send('/passcode', { headers: { ...JSON_ONLY, ...headers } })
        assert.equal(program.status, 403)
        assert.deepEqual(program.json(), { error: 'A passcode cannot be requested by another site.' })
        tokensOf(await redeem(server, passcode))
      })
    }

    for (const site of ['same-origin', 'none']) {
      it(`creates a code with Sec-Fetch-Site: ${site}`, async () => {
        const answer = await (await signedIn(server)).send('/passcode', { headers: { 'sec-fetch-site': site } })
        assert.match(shownOn(answer.text) ?? '', VALUE)
      })
    }

    it('returns a separate code for each user', async () => {
      const marissa = await fetchCode(await signedIn(server))
      const joel = await fetchCode(await signedIn(server, 'joel', 'wombat'))
      tokensOf(await redeem(server, marissa))
      tokensOf(await redeem(server, joel))
    })

    it('answers 429 after sixty codes in a minute, and keeps the last code valid', async () => {
      server.clock.advance(60)
      const browser = await signedIn(server)
      let passcode = ''
      for (let index = 0; index < 60; index += 1) passcode = await fetchCode(browser)
      server.clock.advance(20)
      const program = await browser.send('/passcode', { headers: JSON_ONLY })
      assert.equal(program.status, 429)
      assert.deepEqual(program.json(), {
        error: 'too_many_requests',
        error_description: 'Too many attempts. Try again in 40 seconds.',
      })
      assert.equal(program.headers['retry-after'], '40')
      const page = await browser.send('/passcode', { headers: { accept: 'text/html' } })
      assert.equal(page.status, 429)
      assert.equal(page.headers['retry-after'], '40')
      assert.match(page.text, /Too many requests/)
      assert.match(await fetchCode(await signedIn(server, 'joel', 'wombat')), VALUE)
      tokensOf(await redeem(server, passcode))
      server.clock.advance(40)
      assert.match(await fetchCode(browser), VALUE)
    })
  })
}

describe('GET /passcode with a path in the base URL', () => {
  it('links to itself and its script below the path', async () => {
    const server = await startServer({ config: { base_url: 'http://localhost:8080/uaa' } })
    try {
      const browser = server.browser()
      const page = await browser.send('/uaa/login')
      const [, name = '', value = ''] = /name="(X-[A-Za-z]+-Csrf)" value="([^"]+)"/.exec(page.text) ?? []
      await browser.send('/uaa/login.do', { form: { username: 'marissa', password: 'koala', [name]: value } })
      const { text } = await browser.send('/uaa/passcode')
      assert.match(text, /<a href="\/uaa\/passcode">/)
      assert.match(text, /<script src="\/uaa\/resources\/latchkey\.js/)
    } finally {
      await server.stop()
    }
  })
})

describe('GET /passcode in a browser', () => {
  let server: TestServer
  let other: Site
  let chromium: Chromium
  let base: string
  let elsewhere: string

  before(async () => {
    ;({ server, base } = await startListening(() => ({ config: { bootstrap: defaultBootstrap } })))
    other = await startSite((_, response) =>
      response
        .setHeader('content-type', 'text/html')
        .end(`<title>Elsewhere</title><a id="go" href="${base}/passcode">Go</a><img src="${base}/passcode" alt="">`),
    )
    elsewhere = other.url
    chromium = await launchBrowser()
  })
  after(async () => {
    await chromium.close()
    other.stop()
    assert.deepEqual(server.faults, [])
    await server.stop()
  })

  /** Signs in, and opens the page with a code. */
  const withCode = async (options: BrowserContextOptions = {}): Promise<Page> => {
    const context = await chromium.newContext(options)
    const page = await context.newPage()
    await page.goto(`${base}/passcode`)
    await page.fill('#username', 'marissa')
    await page.fill('#password', 'koala')
    await page.click('input[type=submit]')
    assert.equal(page.url(), `${base}/passcode`)
    assert.match(await page.innerText('#passcode'), GROUPED)
    return page
  }

  it('shows the code after sign-in, and copies it with the button', async () => {
    const page = await withCode({ permissions: ['clipboard-read', 'clipboard-write'] })
    const passcode = await page.innerText('#passcode')
    await page.click('#copybutton')
    await waitUntilTrue(page, `document.querySelector('#copybutton').textContent === 'Copied'`)
    assert.equal(await page.innerText('#copystatus'), 'The code is copied.')
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), passcode)
    assert.equal(await page.evaluate('typeof CopyToClipboard'), 'function')
    assert.equal(await page.evaluate(`CopyToClipboard('nothing')`), false)
    tokensOf(await redeem(server, passcode))
    await page.context().close()
  })

  it('selects the code if there is no clipboard API', async () => {
    const page = await withCode()
    await page.evaluate(`Object.defineProperty(navigator, 'clipboard', { value: undefined })`)
    await page.click('#copybutton')
    await waitUntilTrue(page, `document.querySelector('#copystatus').textContent !== ''`)
    assert.equal(await page.evaluate('String(getSelection())'), await page.innerText('#passcode'))
    await page.context().close()
  })

  it('shows the code without scripts and without a button, and selects it by a click', async () => {
    const page = await withCode({ javaScriptEnabled: false })
    assert.equal(await page.isVisible('#copybutton'), false)
    assert.equal(await page.isVisible('#passcode'), true)
    await page.context().close()
    const scripted = await withCode()
    await scripted.click('#passcode')
    assert.equal(await scripted.evaluate('String(getSelection())'), await scripted.innerText('#passcode'))
    await scripted.context().close()
  })

  it('asks for confirmation of a cross-site navigation, and ignores images', async () => {
    const page = await withCode()
    const first = await page.innerText('#passcode')
    await page.goto(`${elsewhere}/`)
    await page.click('#go')
    assert.equal(page.url(), `${base}/passcode`)
    assert.equal(await page.isVisible('#passcode'), false)
    tokensOf(await redeem(server, first))
    await page.click('main .button')
    const second = await page.innerText('#passcode')
    assert.match(second, GROUPED)
    assert.notEqual(second, first)
    await page.click('.below a')
    assert.notEqual(await page.innerText('#passcode'), second)
    assert.equal((await redeem(server, second)).status, 400)
    await page.context().close()
  })
})
