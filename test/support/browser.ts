import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const CANDIDATES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Starts the machine's own Chromium without a window; `CHROMIUM_PATH` names another one. The caller closes it. */
export async function launchBrowser(): Promise<Browser> {
  const executablePath = [process.env['CHROMIUM_PATH'], ...CANDIDATES].find(path => path && existsSync(path))
  if (!executablePath) {
    throw new Error(`No Chromium found: looked at CHROMIUM_PATH and ${CANDIDATES.join(', ')}`)
  }
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox', // tests run as root in containers, where the sandbox cannot start; they open pages of their own only
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
}
