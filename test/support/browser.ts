// One Chromium for all test files of a process: starting one takes a second of a processor.
import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { chromium } from 'playwright-core'
import type { Browser, Page } from 'playwright-core'

/** The first one is the same browser without windows: it uses a third less CPU time. */
const CANDIDATES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Chromium uses only the last of these options, so it has to repeat Playwright's value. */
const DISABLED_BY_PLAYWRIGHT = [
  'AimEnabled',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsFirstBalancedModeAutoEnable',
  'HttpsUpgrades',
  'LensOverlay',
  'MediaRouter',
  'NetworkTimeServiceQuerying',
  'OptimizationHints',
  'PaintHolding',
  'PreconnectToSearch',
  'ThirdPartyStoragePartitioning',
]
/** Pages of the browser's default window, and a spare process for the next site: half of the CPU time of a new context. */
const UNUSED = ['SpareRendererForSitePerProcess', 'WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup']

let running: Promise<{ readonly browser: Browser; end(): Promise<void> }> | undefined

after(async () => {
  await (await running)?.end()
})

/**
 * The machine's own Chromium without a window, started when first asked for; `CHROMIUM_PATH` names another one. The caller closes
 * it, which closes the windows; the program ends after the last test of the process.
 */
export async function launchBrowser(): Promise<Browser> {
  running ??= startBrowser()
  return (await running).browser
}

async function startBrowser(): Promise<{ readonly browser: Browser; end(): Promise<void> }> {
  const browser = await startChromium()
  const end = browser.close.bind(browser)
  browser.close = async () => {
    for (const context of browser.contexts()) await context.close()
  }
  return { browser, end }
}

function startChromium(): Promise<Browser> {
  const executablePath = [process.env['CHROMIUM_PATH'], ...CANDIDATES].find(path => path && existsSync(path))
  if (!executablePath) {
    throw new Error(`No Chromium found: looked at CHROMIUM_PATH and ${CANDIDATES.join(', ')}`)
  }
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox', // tests run as root in containers, where the sandbox cannot start; they open pages of their own only
      '--disable-gpu',
      '--disable-software-rasterizer', // draws without a process that stands for a graphics card
      `--disable-features=${[...DISABLED_BY_PLAYWRIGHT, ...UNUSED].join(',')}`,
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
      // A page of another server may name fonts elsewhere, and Chromium draws nothing while it waits for them.
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1',
    ],
  })
}

/** Waits, half a minute at most, for an expression; the library's own waiting evaluates inside the page, which forbids it. */
export async function waitUntilTrue(page: Page, expression: string): Promise<void> {
  for (const start = performance.now(); performance.now() - start < 30_000; ) {
    if (await page.evaluate(expression)) return
    await page.waitForTimeout(20)
  }
  throw new Error(`still not true: ${expression}`)
}
