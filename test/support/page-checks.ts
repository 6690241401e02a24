// Checks of pages in a real browser: accessibility by axe-core, and no horizontal overflow.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
// These expressions run in the browser, where the types of this program are unknown.
const VIOLATIONS = `axe.run(document, { resultTypes: ['violations'] })
  .then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes.map(node => node.target).join(' ')))`
const OVERFLOW = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

/** A narrow dark window and a wide light one, each with the words for it in a title. */
export const LOOKS: readonly (readonly [string, BrowserContextOptions])[] = [
  ['a phone', { viewport: { width: 320, height: 640 }, colorScheme: 'dark' }],
  ['a desktop', { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }],
]

/** A page in a context of its own; the test closes the context. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<Page> {
  const page = await (await browser.newContext(options)).newPage()
  page.setDefaultTimeout(10_000)
  return page
}

/** Checks that nothing is wider than the window. */
export async function assertFits(page: Page, label?: string): Promise<void> {
  assert.equal(await page.evaluate(OVERFLOW), 0, label)
}

/** Checks that the page fits and breaks no rule of accessibility. */
export async function assertAccessible(page: Page, label?: string): Promise<void> {
  await assertFits(page, label)
  await page.evaluate(AXE) // not as an element, which the policy of our pages forbids
  assert.deepEqual(await page.evaluate(VIOLATIONS), [], label)
}
