// The page of the interface as a server serves it, drawn by a real browser; see accessibility.test.ts for the other pages.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { docsPage } from '../../src/pages/docs.ts'
import { launchBrowser } from '../support/browser.ts'
import type { TestServer } from '../support/server.ts'
import { startServer } from '../support/server.ts'
import { anonymous } from './states.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
// The expressions below run in the browser, where this program's types know nothing.
const VIOLATIONS = `axe.run(document, {
  runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }, resultTypes: ['violations'],
}).then(result => result.violations.flatMap(({ id, nodes }) => nodes.map(node => id + ': ' + node.target.join(' '))))`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describe('the page of the interface', () => {
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

  for (const width of [320, 1280]) {
    for (const colorScheme of ['light', 'dark'] as const) {
      it(`meets WCAG 2.2 AA and fits a width of ${width}, ${colorScheme}, with everything open`, async () => {
        const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, bypassCSP: true })
        const page = await context.newPage()
        const foreign: string[] = []
        page.on('request', request => {
          if (!request.url().startsWith(base)) foreign.push(request.url())
        })
        await page.goto(`${base}/docs`)
        await page.evaluate(
          `document.querySelectorAll('details').forEach((each, index) => { each.open = index % 6 === 0 })`,
        )
        assert.equal(await page.evaluate(OVERFLOW), 0)
        assert.equal(await page.evaluate('document.scripts.length'), 1, 'the one of every page')
        await page.addScriptTag({ content: AXE })
        assert.deepEqual(await page.evaluate(VIOLATIONS), [])
        assert.deepEqual(foreign, [])
        await page.evaluate(`document.querySelectorAll('details').forEach(each => { each.open = true })`)
        assert.equal(await page.evaluate(OVERFLOW), 0)
        await context.close()
      })
    }
  }

  it('opens by the keyboard', async () => {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${base}/docs`)
    await page.locator('summary').first().focus()
    await page.keyboard.press('Enter')
    assert.equal(await page.evaluate(`document.querySelector('details').open`), true)
    await context.close()
  })

  it('escapes what descriptions say, and shows as code what stands between backticks', () => {
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
    }).toString()
    for (const raw of ['<i>', '<u>', '<s>', '<x>', '<h>', '</pre></pre>', '<b>']) assert.ok(!text.includes(raw), raw)
    assert.match(text, /See <code>&lt;x&gt;<\/code> there\./)
    assert.match(text, /query, required/)
  })
})
