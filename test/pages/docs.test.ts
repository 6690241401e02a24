// The page of the API documentation in a real browser; see accessibility.test.ts for the other pages.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { docsPage } from '../../src/pages/docs.ts'
import { launchBrowser } from '../support/browser.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { thinned } from '../support/thinning.ts'
import { anonymous } from './states.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
// The expressions below run in the browser, so they are not type-checked.
const violations = (rules: object = {}): string => `axe.run(document, {
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }, resultTypes: ['violations'],
  rules: ${JSON.stringify(rules)},
}).then(result => result.violations.flatMap(({ id, nodes }) => nodes.map(node => id + ': ' + node.target.flat().join(' '))))`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

/** Milliseconds. The explorer needs a few seconds of CPU time, longer beside other browsers. */
const SLOW = 90_000
const SCHEMES = ['light', 'dark'] as const

describe('GET /docs', () => {
  let server: TestServer
  let browser: Browser
  let base: string
  before(async () => {
    server = await startServer()
    base = (await server.app.http.listen({ port: 0, host: '127.0.0.1' })).replace('127.0.0.1', 'localhost')
    browser = await launchBrowser()
  })
  after(async () => {
    await browser.close()
    await server.stop()
  })

  const lists = [320, 1280].flatMap(width => SCHEMES.map(colorScheme => ({ width, colorScheme })))
  for (const { width, colorScheme } of thinned(lists, 4)) {
    // Covers GET /docs: rule: phones, desktops, light and dark
    it(`meets WCAG 2.2 AA as a list and fits ${width} pixels, ${colorScheme}`, async () => {
      const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true })
      const page = await context.newPage()
      const foreign: string[] = []
      page.on('request', request => {
        if (!request.url().startsWith(base)) foreign.push(request.url())
      })
      await page.goto(`${base}/docs${width < 1024 ? '' : '?list'}`)
      await page.evaluate(
        `document.querySelectorAll('details').forEach((each, index) => { each.open = index % 6 === 0 })`,
      )
      assert.equal(await page.evaluate(OVERFLOW), 0)
      assert.equal(await page.evaluate(`customElements.get('rapi-doc')`), undefined, 'the explorer is not loaded')
      await page.addScriptTag({ content: AXE })
      assert.deepEqual(await page.evaluate(violations()), [])
      assert.deepEqual(foreign, [])
      await page.evaluate(`document.querySelectorAll('details').forEach(each => { each.open = true })`)
      assert.equal(await page.evaluate(OVERFLOW), 0)
      await context.close()
    })
  }

  it('opens an operation by keyboard', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${base}/docs?list`)
    await page.locator('summary').first().focus()
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(`document.querySelector('details').open`), true)
    await context.close()
  })

  it('shows a list without scripts, or if the explorer fails to load', async () => {
    for (const options of [{ javaScriptEnabled: false }, {}]) {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options })
      const page = await context.newPage()
      await page.route('**/rapidoc.js*', route => route.abort())
      await page.goto(`${base}/docs`)
      await page.getByRole('link', { name: 'Approvals' }).click()
      await page.locator('summary', { hasText: '/approvals/{clientId}' }).first().click()
      await page.locator('details[open]').getByText('Who may call').waitFor()
      await context.close()
    }
  })

  // The explorer takes ten seconds to render. Its behaviour is the same in both schemes.
  for (const colorScheme of thinned(SCHEMES, 2, 1)) {
    // Covers GET /docs: rule: search, navigation and requests to try
    it(`shows an explorer with search and requests under the content security policy, and meets WCAG 2.2 AA except labels, ${colorScheme}`, async () => {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, colorScheme })
      await context.addCookies([{ name: 'svc-session', value: 'mine', url: base }])
      const page = await context.newPage()
      const problems: string[] = []
      page.on('console', message => problems.push(message.text()))
      page.on('pageerror', error => problems.push(error.message))
      page.on('request', request => {
        if (!request.url().startsWith(base)) problems.push(request.url())
      })
      const response = await page.goto(`${base}/docs`)
      assert.match(String((await response?.allHeaders())?.['content-security-policy']), /^script-src 'self'/)
      const navigation = page.locator('rapi-doc .nav-bar-path:visible')
      await navigation.first().waitFor({ timeout: SLOW })
      assert.ok((await navigation.count()) > 150)
      const area = page.locator('rapi-doc .nav-bar-tag').first()
      assert.equal(await area.innerText(), 'OAuth and OpenID Connect', 'not in upper case')
      await page.getByPlaceholder('Filter').fill('healthz')
      await page.keyboard.press('Enter')
      await navigation.nth(1).waitFor({ state: 'detached' })
      await navigation.first().click()
      const answer = page.waitForResponse(`${base}/healthz`)
      await page.getByRole('button', { name: 'TRY' }).click()
      assert.equal((await answer).status(), 200)
      assert.equal((await (await answer).request().allHeaders())['cookie'], undefined)
      await page.getByText('Response Status: OK').waitFor()
      assert.deepEqual(problems, [])

      await page.getByPlaceholder('Filter').fill('')
      await page.evaluate(`location.hash = '#get-/Users'`)
      const reading = page.locator('rapi-doc .main-content')
      await reading.getByText('sortOrder').first().waitFor()
      assert.equal(await reading.getByText('^[^\\u0000]*$').count(), 0, 'a pattern that every string matches')
      await page.evaluate(`location.hash = '#post-/Users'`)
      await page.locator('rapi-doc .main-content').getByText('POST /Users').first().waitFor()
      await page.evaluate(AXE) // the policy forbids a script element
      // RapiDoc's request fields have no labels. The list has no such fields.
      assert.deepEqual(await page.evaluate(violations({ label: { enabled: false } })), [])
      await context.close()
    })
  }

  it('escapes descriptions, and renders backticks as code', () => {
    const operation = {
      method: 'GET',
      path: '/a/<b>',
      summary: '<i>',
      callers: '<u>',
      parameters: [{ name: '"', where: 'query', about: 'See `<x>` there.', required: true }],
      body: '</pre>',
      answers: [{ status: 200, about: '<s>' }],
    }
    const text = docsPage(anonymous, {
      areas: [{ name: '<h>', about: '<p>', operations: [operation] }],
      document: '/openapi.json',
      stylesheet: '/resources/docs.css',
      script: '/resources/docs.js',
      explorer: '/resources/rapidoc.js',
      server: '',
    }).toString()
    for (const raw of ['<i>', '<u>', '<s>', '<x>', '<h>', '</pre></pre>', '<b>']) assert.ok(!text.includes(raw), raw)
    assert.match(text, /See <code>&lt;x&gt;<\/code> there\./)
    assert.match(text, /query, required/)
  })
})
